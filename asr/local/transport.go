package local

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"lessonkit.example/asr/internal/source"
)

// newTransport makes the transport that the package comment promises.
func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           source.DialContext(dialer),
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: cfg.requestTimeout(), // the headers come only after the work
		MaxIdleConnsPerHost:   max(cfg.Concurrency, 1) + 1,
		IdleConnTimeout:       30 * time.Second,
	}
}

// proxy is http.ProxyFromEnvironment, except that addresses of this machine and of the local network are reached directly.
func proxy(req *http.Request) (*url.URL, error) {
	if isLocal(req.URL.Hostname()) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(req)
}

// isLocal tells whether a host is on this machine or on the local network, by its address or its name alone.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !strings.Contains(host, ".") { // "localhost", "whisper": a container's or a neighbour's name
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
