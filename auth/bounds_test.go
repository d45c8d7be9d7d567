package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestMemoryOfUsedCodesIsBounded(t *testing.T) {
	t.Parallel()
	used := usedCodes{at: map[[sha256.Size]byte]time.Time{}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	add := func(code string) bool { return used.add(sha256.Sum256([]byte(code)), now) }
	for i := range maxUsedCodes + 100 {
		require.True(t, add(fmt.Sprint(i)))
		require.LessOrEqual(t, len(used.at), maxUsedCodes)
		require.Len(t, used.order, len(used.at))
	}
	require.True(t, add("0"), "the oldest is forgotten")
	require.False(t, add(fmt.Sprint(maxUsedCodes)), "the newest is remembered")
	now = now.Add(codeMemory)
	require.True(t, add("new"))
	require.Len(t, used.at, 1, "everything old is forgotten")
}

// emptyStore is a store that accepts sessions and finds none.
type emptyStore struct {
	Store
	lookups atomic.Int32
}

func (s *emptyStore) Session(context.Context, TokenHash) (Session, error) {
	s.lookups.Add(1)
	return Session{}, ErrNoSession
}

func (s *emptyStore) CreateSession(context.Context, NewSession) (uuid.UUID, error) {
	return uuid.UUID{1}, nil
}

// hanging is an Exchanger that waits.
type hanging struct{ release chan struct{} }

func (h hanging) Exchange(context.Context, string) (Identity, error) {
	<-h.release
	return Identity{Platform: "p", Subject: "anna"}, nil
}

func TestRunningExchangesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := hanging{make(chan struct{})}
		s, err := New(Config{Store: &emptyStore{}, Exchanger: h})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for i := range maxExchanges {
			wg.Go(func() {
				_, err := s.Login(t.Context(), fmt.Sprint(i))
				require.NoError(t, err)
			})
		}
		synctest.Wait()
		_, err = s.Login(t.Context(), "one-more")
		require.ErrorIs(t, err, ErrRateLimited)
		close(h.release)
		wg.Wait()
		_, err = s.Login(t.Context(), "one-more")
		require.NoError(t, err, "a code that was not sent is still valid")
	})
}
