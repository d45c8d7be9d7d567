package authhttp

import (
	"cmp"
	"container/list"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"lessonkit.example/auth"
	"lessonkit.example/internal/httpapi"
)

// maxLimitedClients bounds the memory of the rate limit, at about 300 bytes for each client. Beyond
// it, the client that was not seen for the longest time is forgotten.
const maxLimitedClients = 20_000

// IPv6 clients are limited by the smallest network that providers assign, within which a client can
// change its address freely, and by the largest that one customer gets, which has 65,536 of these.
// The large one may hold many clients, so it has a limit of siteShare times as much.
const (
	ipv6ClientBits = 64
	ipv6SiteBits   = 48
	siteShare      = 10
)

// Limiter limits the attempts of each client that fail, such as sign-ins: it has a bucket of tokens
// for each client, from which an attempt takes one. It is in memory, and safe for concurrent use.
type Limiter struct {
	every   time.Duration // 0: no limit
	burst   float64
	now     func() time.Time
	trusted httpapi.TrustedProxies

	mu      sync.Mutex
	clients map[netip.Prefix]*list.Element // of *bucket
	recent  list.List                      // front: seen last
}

type bucket struct {
	client netip.Prefix
	share  float64 // of the limit
	tokens float64
	at     time.Time // when tokens was right
}

// NewLimiter returns a limiter for a program that asks for a secret of its own, such as a password;
// [Register] makes its own. It uses LoginsPerMinute, LoginBurst, TrustedProxies and Now of c.
func NewLimiter(c Config) *Limiter {
	l := &Limiter{
		burst: float64(cmp.Or(max(c.LoginBurst, 0), 50)), now: c.Now, trusted: c.TrustedProxies,
		clients: map[netip.Prefix]*list.Element{},
	}
	if perMinute := cmp.Or(c.LoginsPerMinute, 20); perMinute > 0 {
		l.every = time.Minute / time.Duration(perMinute)
	}
	if l.now == nil {
		l.now = time.Now
	}
	return l
}

// Client returns the address that sent r, or that a trusted proxy has forwarded it for.
func (l *Limiter) Client(r *http.Request) netip.Addr {
	return l.trusted.Client(r.RemoteAddr, r.Header["X-Forwarded-For"])
}

// Take counts an attempt by the client of r as failed, unless giveBack is called when it has not.
// If the client has failed too often, wait is positive: refuse the attempt without trying it.
func (l *Limiter) Take(r *http.Request) (giveBack func(), wait time.Duration) {
	return l.take(l.Client(r))
}

// isGuess reports whether err may be the answer to a code that was guessed.
func isGuess(err error) bool {
	return errors.Is(err, auth.ErrCodeRejected) || errors.Is(err, auth.ErrBlocked) ||
		errors.Is(err, auth.ErrDeviceCode)
}

func (l *Limiter) take(addr netip.Addr) (giveBack func(), wait time.Duration) {
	if l.every == 0 {
		return func() {}, 0
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	buckets := []*bucket{l.bucket(networkOf(addr, ipv6ClientBits), 1, now)}
	if addr.Is6() {
		buckets = append(buckets, l.bucket(networkOf(addr, ipv6SiteBits), siteShare, now))
	}
	for _, b := range buckets {
		wait = max(wait, l.refill(b, now))
	}
	if wait > 0 {
		return nil, wait
	}
	for _, b := range buckets {
		b.tokens--
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, b := range buckets {
			b.tokens = min(l.burst*b.share, b.tokens+1)
		}
	}, 0
}

// refill adds the tokens of the time since the last attempt. If there is none, it returns the time
// until the next.
func (l *Limiter) refill(b *bucket, now time.Time) (wait time.Duration) {
	every := float64(l.every) / b.share
	if now.After(b.at) {
		b.tokens = min(l.burst*b.share, b.tokens+float64(now.Sub(b.at))/every)
		b.at = now
	}
	if b.tokens < 1 {
		return max(time.Duration((1-b.tokens)*every), 1) // tokens may be rounded
	}
	return 0
}

// bucket returns a client's bucket, which is full if the client is new.
func (l *Limiter) bucket(client netip.Prefix, share float64, now time.Time) *bucket {
	e, known := l.clients[client]
	if !known {
		if l.recent.Len() >= maxLimitedClients {
			delete(l.clients, l.recent.Remove(l.recent.Back()).(*bucket).client)
		}
		e = l.recent.PushFront(&bucket{client: client, share: share, tokens: l.burst * share, at: now})
		l.clients[client] = e
	}
	l.recent.MoveToFront(e)
	return e.Value.(*bucket)
}

// networkOf returns the network that identifies the client at addr: that of so many bits if it is
// an IPv6 address. All unknown addresses are one client.
func networkOf(addr netip.Addr, bits int) netip.Prefix {
	if !addr.Is6() {
		bits = addr.BitLen()
	}
	p, _ := addr.Prefix(bits) // zero for an unknown address
	return p
}
