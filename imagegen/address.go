package imagegen

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// special returns the networks of the IANA special-purpose address registries that the methods of
// netip.Addr and the check of 2000::/3 do not cover. The anycast networks among them are reachable,
// but serve no images.
func special() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24",
		"192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48",
		"3fff::/20"} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// isPublic reports whether a is an address of the public internet. All of IPv6 outside of 2000::/3
// is private, reserved, or a translation that may lead to a private IPv4 address.
func isPublic(a netip.Addr, special []netip.Prefix) bool {
	a = a.Unmap()
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return false
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// fetchTransport connects to public addresses only, unless all are allowed. The check runs after
// name resolution, for each connection, so a name that resolves differently the second time gains
// nothing. There is no proxy then, which would resolve names itself.
func fetchTransport(allowPrivate bool) *http.Transport {
	d := newDialer()
	if allowPrivate {
		return newTransport(d)
	}
	networks := special()
	d.Control = func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !isPublic(at.Addr(), networks) {
			return fmt.Errorf("%w: %s", ErrBlockedAddress, address)
		}
		return nil
	}
	t := newTransport(d)
	t.Proxy = nil
	return t
}

// parseURL parses an http or https URL; a relative one is resolved against base.
func parseURL(base *url.URL, address string) (*url.URL, error) {
	switch {
	case base == nil && address == "":
		return nil, errors.New("it is empty; expected http://HOST or https://HOST")
	case base == nil && !strings.Contains(address, "://"):
		return nil, errors.New("it has no scheme; expected http://HOST or https://HOST")
	}
	u, err := url.Parse(address)
	if err != nil { // not wrapped: err quotes the whole address
		return nil, errors.New("the address is malformed")
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("address %s is not http or https", redact(u.String()))
	case u.Host == "":
		return nil, fmt.Errorf("address %s has no host", redact(u.String()))
	case u.User != nil:
		return nil, fmt.Errorf("address %s contains a user name, which is not allowed", redact(u.String()))
	}
	return u, nil
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// redact returns an address without its user, query and fragment, which may be secret.
func redact(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(malformed address)"
	}
	hidden := u.RawQuery != ""
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	if u.Opaque != "" {
		return u.Scheme + ":…"
	}
	if hidden {
		return u.String() + "?…"
	}
	return u.String()
}
