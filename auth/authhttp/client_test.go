package authhttp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := trustedProxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		rule      string
		trusted   trustedProxies
		remote    string
		forwarded []string
		want      string
	}{
		{"no proxy is trusted", nil, "10.0.0.1:5", []string{"192.0.2.1"}, "10.0.0.1"},
		{"peer is not a proxy", proxies, "192.0.2.9:5", []string{"192.0.2.1"}, "192.0.2.9"},
		{"one proxy", proxies, "10.0.0.1:5", []string{"192.0.2.1"}, "192.0.2.1"},
		{"two proxies", proxies, "10.0.0.1:5", []string{"192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		{"two header lines", proxies, "10.0.0.1:5", []string{"192.0.2.1", "10.0.0.2"}, "192.0.2.1"},
		{"forged addresses are ignored", proxies, "10.0.0.1:5", []string{"10.9.9.9, 127.0.0.1, 192.0.2.1"},
			"192.0.2.1"},
		{"with port", proxies, "10.0.0.1:5", []string{"192.0.2.1:777"}, "192.0.2.1"},
		{"IPv6 with port", proxies, "[fd00::1]:5", []string{"[2001:db8::1]:777"}, "2001:db8::1"},
		{"IPv6 in brackets", proxies, "[fd00::1]:5", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"no header", proxies, "10.0.0.1:5", nil, "10.0.0.1"},
		{"nonsense", proxies, "10.0.0.1:5", []string{"192.0.2.1, unknown"}, "10.0.0.1"},
		{"nonsense before a proxy", proxies, "10.0.0.1:5", []string{"_hidden, 10.0.0.2"}, "10.0.0.2"},
		{"all proxies", proxies, "10.0.0.1:5", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"zone", nil, "[fe80::1%eth0]:5", nil, "fe80::1"},
		{"unix socket with proxies", proxies, "@", []string{"192.0.2.1"}, "192.0.2.1"},
		{"unix socket without", nil, "@", []string{"192.0.2.1"}, "invalid IP"},
		{"mapped", proxies, "[::ffff:10.0.0.1]:5", []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.trusted.client(c.remote, c.forwarded).String())
		})
	}
}

// FuzzForwarded sends any header through a trusted proxy: nothing panics, and
// the client is never another one for what it wrote itself before the proxy's
// entry.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"", ",", "192.0.2.1", "10.0.0.1, ", "[::1", "a,b,c", "1.2.3.4:5:6", "\x00"} {
		f.Add(seed)
	}
	proxies := trustedProxies{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, written string) {
		proxies.client("10.0.0.1:5", []string{written})
		got := proxies.client("10.0.0.1:5", []string{written, "192.0.2.1"})
		require.Equal(t, netip.MustParseAddr("192.0.2.1"), got)
		clientOf(got)
	})
}

func TestMemoryOfTheLimitIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newLimiter(Config{LoginBurst: 1, Now: func() time.Time { return now }})
	addr := netip.MustParseAddr("10.0.0.0")
	busy := netip.MustParseAddr("192.0.2.1")
	for i := range maxLimitedClients + 500 {
		require.Zero(t, l.take(addr))
		addr = addr.Next()
		wait := l.take(busy) // comes again and again: it is not forgotten
		require.Equal(t, i > 0, wait > 0)
	}
	require.Len(t, l.clients, maxLimitedClients)
	require.Equal(t, maxLimitedClients, l.recent.Len())
	require.Zero(t, l.take(netip.MustParseAddr("10.0.0.0")), "the oldest is forgotten")
	require.Positive(t, l.take(addr.Prev()), "the newest is remembered")
}

func TestARefusedTryCostsNothing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newLimiter(Config{LoginsPerMinute: 60, LoginBurst: 2, Now: func() time.Time { return now }})
	addr := netip.MustParseAddr("192.0.2.1")
	require.Zero(t, l.take(addr))
	require.Zero(t, l.take(addr))
	for range 100 {
		require.Equal(t, time.Second, l.take(addr), "hammering must not lengthen the wait")
	}
	now = now.Add(time.Second)
	require.Zero(t, l.take(addr))
}
