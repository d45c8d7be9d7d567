package authhttp

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLimitedClients bounds the memory of the rate limit, at about 300 bytes for each client. Beyond
// it, the client that was not seen for the longest time is forgotten.
const maxLimitedClients = 20_000

// ipv6ClientBits is the prefix length of an IPv6 client: that of the smallest network that
// providers assign, within which a client can change its address freely.
const ipv6ClientBits = 64

// limiter is a token bucket for each client.
type limiter struct {
	every time.Duration // 0: no limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	clients map[netip.Prefix]*list.Element // of *bucket
	recent  list.List                      // front: seen last
}

type bucket struct {
	client netip.Prefix
	tokens *rate.Limiter
}

func newLimiter(c Config) *limiter {
	l := &limiter{burst: c.LoginBurst, now: c.Now, clients: map[netip.Prefix]*list.Element{}}
	switch {
	case c.LoginsPerMinute == 0:
		l.every = time.Minute / 20
	case c.LoginsPerMinute > 0:
		l.every = time.Minute / time.Duration(c.LoginsPerMinute)
	}
	if l.burst <= 0 {
		l.burst = 10
	}
	if l.now == nil {
		l.now = time.Now
	}
	return l
}

// take takes a token from addr's bucket. If there is none, it returns the time until the next.
func (l *limiter) take(addr netip.Addr) time.Duration {
	if l.every == 0 {
		return 0
	}
	client := clientOf(addr)
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.clients[client]
	if !known {
		if l.recent.Len() >= maxLimitedClients {
			delete(l.clients, l.recent.Remove(l.recent.Back()).(*bucket).client)
		}
		e = l.recent.PushFront(&bucket{client, rate.NewLimiter(rate.Every(l.every), l.burst)})
		l.clients[client] = e
	}
	l.recent.MoveToFront(e)
	r := e.Value.(*bucket).tokens.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// clientOf returns the network that identifies the client at addr. All unknown addresses are one
// client.
func clientOf(addr netip.Addr) netip.Prefix {
	bits := addr.BitLen()
	if addr.Is6() {
		bits = ipv6ClientBits
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
