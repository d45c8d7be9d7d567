package imagegen

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// last returns the last address of a network.
func last(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(bytes); i++ {
		bytes[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(bytes)
	return a
}

// The entries of IANA's IPv4 and IPv6 special-purpose address registries of 2025-10, then those of
// its IPv4 and IPv6 address space registries, and of RFC 4291 and RFC 2765, that are not public.
func TestSpecialPurposeNetworksAreBlocked(t *testing.T) {
	t.Parallel()
	for _, network := range []string{
		"0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
		"192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32",
		"192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"255.255.255.255/32",

		"::1/128", "::/128", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
		"2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32",
		"2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16",
		"2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",

		"224.0.0.0/4", "::/8", "100::/8", "200::/7", "400::/6", "800::/5", "1000::/4", "4000::/3", "6000::/3",
		"8000::/3", "a000::/3", "c000::/3", "e000::/4", "f000::/5", "f800::/6", "fe00::/9", "fec0::/10", "ff00::/8",
		"::/96",
	} {
		p := netip.MustParsePrefix(network)
		middle := last(netip.PrefixFrom(p.Addr(), min(p.Bits()+1, p.Addr().BitLen())))
		for _, a := range []netip.Addr{p.Addr(), middle, last(p)} {
			require.False(t, isPublic(a, special()), "%s in %s", a, network)
			if a.Is4() {
				mapped := netip.AddrFrom16(a.As16())
				require.False(t, isPublic(mapped, special()), "%s in %s", mapped, network)
			}
			if a.Is6() {
				require.False(t, isPublic(a.WithZone("eth0"), special()), "%s in %s", a, network)
			}
		}
	}
}

// The networks beside the special ones are public.
func TestPublicNetworksAreNotBlocked(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
		"192.31.195.255", "192.52.194.0", "192.88.98.255", "192.167.255.255", "192.169.0.0", "192.175.49.0",
		"198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.114.0", "223.255.255.255", "::ffff:8.8.8.8",
		"2000::1", "2001:200::", "2001:db7:ffff::1", "2001:db9::", "2003::", "2606:4700::1111", "2620:4f:7fff::",
		"2620:4f:8001::", "3ffe:ffff::1", "3fff:1000::",
	} {
		require.True(t, isPublic(netip.MustParseAddr(address), special()), address)
	}
}
