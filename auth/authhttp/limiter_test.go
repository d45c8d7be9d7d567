package authhttp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryOfTheLimitIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := NewLimiter(Config{LoginBurst: 1, Now: func() time.Time { return now }})
	take := func(addr netip.Addr) time.Duration {
		_, wait := l.take(addr)
		return wait
	}
	addr := netip.MustParseAddr("10.0.0.0")
	busy := netip.MustParseAddr("192.0.2.1")
	for i := range maxLimitedClients + 500 {
		require.Zero(t, take(addr))
		addr = addr.Next()
		wait := take(busy) // comes again and again: it is not forgotten
		require.Equal(t, i > 0, wait > 0)
	}
	require.Len(t, l.clients, maxLimitedClients)
	require.Equal(t, maxLimitedClients, l.recent.Len())
	require.Zero(t, take(netip.MustParseAddr("10.0.0.0")), "the oldest is forgotten")
	require.Positive(t, take(addr.Prev()), "the newest is remembered")
}

// TestARefusedTryAlwaysWaits, also where rounding makes less than one token of a whole one.
func TestARefusedTryAlwaysWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := NewLimiter(Config{LoginBurst: 1, Now: func() time.Time { return now }})
	addr := netip.MustParseAddr("192.0.2.1")
	for range 8 {
		giveBack, wait := l.take(addr)
		require.Equal(t, giveBack == nil, wait > 0, "either a token or a wait")
		now = now.Add(500 * time.Millisecond)
	}
}
