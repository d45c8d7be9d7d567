package auth

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// Limits of the memory of login codes. Platforms forget a code after five
// minutes; the number bounds memory when somebody sends invented codes, and the
// platform still turns down what was forgotten here for that. A slow platform and
// many clients must not pile up exchanges without end either.
const (
	codeMemory         = 5 * time.Minute
	maxRememberedCodes = 20_000
	maxExchanges       = 256
)

type codeHash [sha256.Size]byte

// codes makes sure that a login code goes to the platform at most once:
// concurrent calls with one code share one exchange, later ones are turned down.
// It holds hashes, never codes.
type codes struct {
	mu      sync.Mutex
	entries map[codeHash]*codeEntry
	order   []codeHash // by time of arrival; the front is forgotten first
	running int        // exchanges under way
}

type codeEntry struct {
	at   time.Time
	done chan struct{} // closed when id and err are set
	id   Identity
	err  error
}

func (c *codes) init() { c.entries = map[codeHash]*codeEntry{} }

// do runs exchange for a code that is new, waits for the running exchange of
// one that is not, and returns ErrCodeRejected for one that was spent.
// exchange goes on when ctx ends: the code is spent by then, and others may be
// waiting for the answer.
func (c *codes) do(ctx context.Context, code string, now time.Time, exchange func() (Identity, error)) (Identity, error) {
	key := codeHash(sha256.Sum256([]byte(code)))
	c.mu.Lock()
	c.forget(now)
	e, known := c.entries[key]
	if !known {
		if c.running >= maxExchanges {
			c.mu.Unlock()
			return Identity{}, &ExchangeError{Kind: ErrRateLimited, Message: "too many exchanges under way", After: time.Second}
		}
		c.running++
		e = &codeEntry{at: now, done: make(chan struct{})}
		c.entries[key] = e
		c.order = append(c.order, key)
		go func() {
			id, err := exchange()
			c.mu.Lock()
			c.running--
			e.id, e.err = id, err
			close(e.done)
			c.mu.Unlock()
		}()
	}
	select {
	case <-e.done:
		c.mu.Unlock()
		return Identity{}, &ExchangeError{Kind: ErrCodeRejected, Message: "used before"}
	default:
		c.mu.Unlock()
	}
	select {
	case <-e.done:
		return e.id, e.err
	case <-ctx.Done():
		return Identity{}, ctx.Err()
	}
}

// forget drops what is too old or too much. Running exchanges that are dropped
// still answer those who wait for them.
func (c *codes) forget(now time.Time) {
	n := 0
	for n < len(c.order) {
		over := len(c.order)-n >= maxRememberedCodes
		if !over && now.Sub(c.entries[c.order[n]].at) < codeMemory {
			break
		}
		delete(c.entries, c.order[n])
		n++
	}
	c.order = c.order[n:]
}
