package httpapi

import (
	"net/netip"
	"slices"
	"strings"
)

// TrustedProxies are the networks whose X-Forwarded-For header is trusted.
type TrustedProxies []netip.Prefix

// Client returns the address of the client behind a connection from remote, or the zero Addr if it
// is unknown. A proxy appends the address of its own peer to X-Forwarded-For, so the header is read
// from its end as long as each address is a trusted proxy's; anything before the first that is not
// may be forged. A peer without an IP address, on a unix socket, is a proxy on this machine, which
// is trusted if any proxy is.
func (t TrustedProxies) Client(remote string, forwarded []string) netip.Addr {
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

func (t TrustedProxies) contains(addr netip.Addr) bool {
	return slices.ContainsFunc(t, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseAddr parses an address with or without port and brackets. It returns the zero Addr if s is
// not an address.
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
