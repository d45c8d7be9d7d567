// Package wake contains what the stores share to wake workers: a hub within the process and a
// coalescer of notifications to other processes.
package wake

import (
	"sync"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// Hub passes signals to the workers of this process. The zero Hub is ready to use.
type Hub struct {
	mu   sync.RWMutex
	next int
	subs map[int]func(driver.Signal) bool
}

// Subscribe has f called with every signal until the returned function is called. Before it returns
// it calls f with the zero Signal, for signals that were emitted earlier.
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

// Emit passes s on and reports whether a worker can start the job immediately.
func (h *Hub) Emit(s driver.Signal) (started bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, f := range h.subs {
		started = f(s) || started
	}
	return started
}

// Empty reports whether nobody has subscribed.
func (h *Hub) Empty() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.subs) == 0
}

const gap = 2 * time.Millisecond // the shortest time between two notifications of one store

// Coalescer collects signals and sends them together: the first at once, and those that arrive
// while it is being sent, or within a short gap, together after it. It runs a goroutine only while
// it has something to send.
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
	c.pending = merge(c.pending, s)
	if !c.running {
		c.running = true
		go c.run()
	}
}

// Reserve returns true if nothing was sent for a moment; then the caller sends, and signals that
// are added from now on follow after the gap.
func (c *Coalescer) Reserve() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return false
	}
	c.running = true
	go func() {
		time.Sleep(gap)
		c.run()
	}()
	return true
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
		time.Sleep(gap)
	}
}

// merge adds s to signals, at most one for each queue.
func merge(signals []driver.Signal, s driver.Signal) []driver.Signal {
	for i, o := range signals {
		in := min(o.In, s.In)
		if o.In, s.In = in, in; o == s {
			signals[i].In = in
			return signals
		}
	}
	return append(signals, s)
}

// Of returns a signal for each queue of rs, and the number of records of each queue.
func Of(rs []driver.Record) (signals []driver.Signal, counts map[string]int) {
	counts = map[string]int{}
	for _, r := range rs {
		s := driver.Signal{Queue: r.Queue}
		if !r.RunAt.IsZero() {
			s.In = time.Until(r.RunAt)
		}
		signals = merge(signals, s)
		counts[r.Queue]++
	}
	return signals, counts
}
