package httpapi

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := TrustedProxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		rule      string
		trusted   TrustedProxies
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
			require.Equal(t, c.want, c.trusted.Client(c.remote, c.forwarded).String())
		})
	}
}

// FuzzForwarded sends any header through a trusted proxy: nothing panics, and the client is never
// another one for what it wrote itself before the proxy's entry.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"", ",", "192.0.2.1", "10.0.0.1, ", "[::1", "a,b,c", "1.2.3.4:5:6", "\x00"} {
		f.Add(seed)
	}
	proxies := TrustedProxies{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, written string) {
		proxies.Client("10.0.0.1:5", []string{written})
		got := proxies.Client("10.0.0.1:5", []string{written, "192.0.2.1"})
		require.Equal(t, netip.MustParseAddr("192.0.2.1"), got)
	})
}
