package authhttp

import (
	"container/list"
	"net/netip"
	"sync"
	"time"
)

// maxLimitedClients bounds the memory of the rate limit, at about 300 bytes for each client. Beyond
// it, the client that was not seen for the longest time is forgotten.
const maxLimitedClients = 20_000

// ipv6ClientBits is the prefix length of an IPv6 client: that of the smallest network that
// providers assign, within which a client can change its address freely.
const ipv6ClientBits = 64

// limiter is a token bucket of failed sign-ins for each client. A sign-in takes a token before it
// is tried, and gives it back unless it fails.
type limiter struct {
	every time.Duration // 0: no limit
	burst float64
	now   func() time.Time

	mu      sync.Mutex
	clients map[netip.Prefix]*list.Element // of *bucket
	recent  list.List                      // front: seen last
}

type bucket struct {
	client netip.Prefix
	tokens float64
	at     time.Time // when tokens was right
}

func newLimiter(c Config) *limiter {
	l := &limiter{burst: float64(c.LoginBurst), now: c.Now, clients: map[netip.Prefix]*list.Element{}}
	switch {
	case c.LoginsPerMinute == 0:
		l.every = time.Minute / 20
	case c.LoginsPerMinute > 0:
		l.every = time.Minute / time.Duration(c.LoginsPerMinute)
	}
	if l.burst <= 0 {
		l.burst = 50
	}
	if l.now == nil {
		l.now = time.Now
	}
	return l
}

// take takes a token from addr's bucket, which giveBack returns. If there is none, it returns the
// time until the next.
func (l *limiter) take(addr netip.Addr) (giveBack func(), wait time.Duration) {
	if l.every == 0 {
		return func() {}, 0
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(clientOf(addr), now)
	if now.After(b.at) {
		b.tokens = min(l.burst, b.tokens+float64(now.Sub(b.at))/float64(l.every))
		b.at = now
	}
	if b.tokens < 1 {
		return nil, max(time.Duration((1-b.tokens)*float64(l.every)), 1) // tokens may be rounded
	}
	b.tokens--
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		b.tokens = min(l.burst, b.tokens+1)
	}, 0
}

// bucket returns a client's bucket, which is full if the client is new.
func (l *limiter) bucket(client netip.Prefix, now time.Time) *bucket {
	e, known := l.clients[client]
	if !known {
		if l.recent.Len() >= maxLimitedClients {
			delete(l.clients, l.recent.Remove(l.recent.Back()).(*bucket).client)
		}
		e = l.recent.PushFront(&bucket{client: client, tokens: l.burst, at: now})
		l.clients[client] = e
	}
	l.recent.MoveToFront(e)
	return e.Value.(*bucket)
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
