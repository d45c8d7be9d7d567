// Package wake holds what the stores share for waking workers: a hub within the process and a coalescer of
// notifications to other processes.
package wake

import (
	"sync"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// Hub passes signals to the workers of this process. The zero Hub is ready.
type Hub struct {
	mu   sync.RWMutex
	next int
	subs map[int]func(driver.Signal) bool
}

// Subscribe has f called with every signal until the returned function is called, and with the zero Signal before it
// returns, for what was not heard yet.
func (h *Hub) Subscribe(f func(driver.Signal) bool) (unsubscribe func()) {
	h.mu.Lock()
	if h.subs == nil {
		h.subs = map[int]func(driver.Signal) bool{}
	}
	id := h.next
	h.next++
	h.subs[id] = f
	h.mu.Unlock()
	f(driver.Signal{})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, id)
	}
}

// Emit passes s on and reports whether a worker takes the job at once.
func (h *Hub) Emit(s driver.Signal) (taken bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, f := range h.subs {
		taken = f(s) || taken
	}
	return taken
}

// Gap is the shortest time between two notifications of one store.
const Gap = 2 * time.Millisecond

// Coalescer gathers signals and sends them together: the first at once, what comes while that is on its way or within
// Gap together after it. It runs a goroutine only while it has something to send.
type Coalescer struct {
	send func([]driver.Signal)

	mu      sync.Mutex
	pending []driver.Signal
	running bool
}

// NewCoalescer returns a coalescer that sends with send, never twice at the same time.
func NewCoalescer(send func([]driver.Signal)) *Coalescer { return &Coalescer{send: send} }

// Add sends s soon. Of several signals for a queue only the earliest is kept.
func (c *Coalescer) Add(s driver.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = Merge(c.pending, s)
	if !c.running {
		c.running = true
		go c.run()
	}
}

func (c *Coalescer) run() {
	for {
		c.mu.Lock()
		signals := c.pending
		c.pending = nil
		if len(signals) == 0 {
			c.running = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		c.send(signals)
		time.Sleep(Gap)
	}
}

// Merge adds s to signals, at most one for each queue.
func Merge(signals []driver.Signal, s driver.Signal) []driver.Signal {
	for i, o := range signals {
		if o.Queue == s.Queue && o.Cancel == s.Cancel {
			signals[i].In = min(o.In, s.In)
			return signals
		}
	}
	return append(signals, s)
}

// Of returns a signal for each queue of rs, and how many records it stands for.
func Of(rs []driver.Record) (signals []driver.Signal, counts map[string]int) {
	counts = map[string]int{}
	for _, r := range rs {
		s := driver.Signal{Queue: r.Queue}
		if !r.RunAt.IsZero() {
			s.In = max(0, time.Until(r.RunAt))
		}
		signals = Merge(signals, s)
		counts[r.Queue]++
	}
	return signals, counts
}
