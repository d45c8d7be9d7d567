package auth

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryOfCodesIsBounded(t *testing.T) {
	t.Parallel()
	var c codes
	c.init()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	spend := func(code string) error {
		_, err := c.do(t.Context(), code, now, func() (Identity, error) { return Identity{}, nil })
		return err
	}
	for i := range maxRememberedCodes + 100 {
		require.NoError(t, spend(fmt.Sprint(i)))
		require.LessOrEqual(t, len(c.entries), maxRememberedCodes)
		require.Len(t, c.order, len(c.entries))
	}
	require.NoError(t, spend("0"), "want the oldest forgotten")
	require.ErrorIs(t, spend(fmt.Sprint(maxRememberedCodes)), ErrCodeRejected, "want the newest remembered")
	now = now.Add(codeMemory)
	require.NoError(t, spend("new"))
	require.Len(t, c.entries, 1, "want all that is old forgotten")
}

func TestExchangesUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	var c codes
	c.init()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	release := make(chan struct{})
	hang := func() (Identity, error) { <-release; return Identity{}, nil }
	errs := make(chan error)
	for i := range maxExchanges {
		go func() {
			_, err := c.do(t.Context(), fmt.Sprint(i), now, hang)
			errs <- err
		}()
	}
	for started := 0; started < maxExchanges; { // until all are under way
		c.mu.Lock()
		started = c.running
		c.mu.Unlock()
		runtime.Gosched()
	}
	_, err := c.do(t.Context(), "one more", now, hang)
	require.ErrorIs(t, err, ErrRateLimited)
	close(release)
	for range maxExchanges {
		require.NoError(t, <-errs)
	}
	_, err = c.do(t.Context(), "one more", now, hang)
	require.NoError(t, err, "want a code that was not sent to be good still")
}

func TestMemoryOfUsesIsBounded(t *testing.T) {
	t.Parallel()
	var u uses
	u.init()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range maxPendingUses + 100 {
		var hash TokenHash
		binary.BigEndian.PutUint32(hash[:], uint32(i))
		u.add(hash, start)
	}
	require.Len(t, u.pending, maxPendingUses)
	u.add(TokenHash{}, start.Add(time.Hour))
	u.add(TokenHash{}, start.Add(time.Minute)) // a failed write that comes back must not undo the newer time
	require.Equal(t, start.Add(time.Hour), u.pending[TokenHash{}])
	require.Len(t, u.take(), maxPendingUses)
	require.Empty(t, u.take())
}

// Authenticate's cost beside the store's: one hash and few allocations.
func BenchmarkAuthenticateToken(b *testing.B) {
	store := &oneSession{session: Session{ExpiresAt: time.Now().Add(time.Hour), LastUsedAt: time.Now()}}
	s, err := New(Config{Store: store})
	require.NoError(b, err)
	token := newToken("mps_")
	store.hash, _ = hashToken("mps_", token)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.AuthenticateToken(ctx, token); err != nil {
			b.Fatal(err)
		}
		store.lookup = store.lookup[:0]
	}
}
