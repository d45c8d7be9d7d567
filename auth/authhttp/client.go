package authhttp

import (
	"net/netip"
	"strings"
)

// trustedProxies are the networks whose X-Forwarded-For header is believed.
type trustedProxies []netip.Prefix

// client is the address of the client behind a connection from remote. A proxy
// appends the address it was called from to X-Forwarded-For, so the header is
// read from its end for as long as each address is a trusted proxy's; what
// stands before the first that is not may be invented. A peer without an IP
// address, on a unix socket, is a proxy of this machine, and trusted where any
// is. The result is the zero Addr where nothing is known.
func (t trustedProxies) client(remote string, forwarded []string) netip.Addr {
	addr := parseAddr(remote)
	if len(t) == 0 || addr.IsValid() && !t.contains(addr) {
		return addr
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := parseAddr(strings.TrimSpace(hops[i]))
		if !hop.IsValid() {
			break
		}
		addr = hop
		if !t.contains(addr) {
			break
		}
	}
	return addr
}

func (t trustedProxies) contains(addr netip.Addr) bool {
	for _, p := range t {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// parseAddr reads an address with or without port and brackets.
func parseAddr(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}
