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
	subs map[*func(driver.Signal) bool]struct{}
}

// Subscribe has f called with every signal until the returned function is called. Before it returns
// it calls f with the zero Signal, for signals that were emitted earlier.
func (h *Hub) Subscribe(f func(driver.Signal) bool) (unsubscribe func()) {
	h.mu.Lock()
	if h.subs == nil {
		h.subs = map[*func(driver.Signal) bool]struct{}{}
	}
	h.subs[&f] = struct{}{}
	h.mu.Unlock()
	f(driver.Signal{})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, &f)
	}
}

// Emit passes s on and reports whether a worker can start the job immediately.
func (h *Hub) Emit(s driver.Signal) (started bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for f := range h.subs {
		started = (*f)(s) || started
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
	pending merged
	running bool
}

// NewCoalescer returns a coalescer that sends with send, never twice at the same time.
func NewCoalescer(send func([]driver.Signal)) *Coalescer { return &Coalescer{send: send} }

// Add sends s soon. Of several signals for a queue only the earliest is kept.
func (c *Coalescer) Add(s driver.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.add(s)
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
		signals := c.pending.signals
		c.pending = merged{}
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

// merged are signals, of which those that differ in their times only are one, with the earliest.
type merged struct {
	signals []driver.Signal
	at      map[driver.Signal]int // where a signal is, by the same without its time
}

func (m *merged) add(s driver.Signal) {
	id := s
	id.In = 0
	if i, ok := m.at[id]; ok {
		m.signals[i].In = min(m.signals[i].In, s.In)
		return
	}
	if m.at == nil {
		m.at = map[driver.Signal]int{}
	}
	m.at[id] = len(m.signals)
	m.signals = append(m.signals, s)
}

// Of returns a signal for each queue of rs, and the number of records of each queue.
func Of(rs []driver.Record) (signals []driver.Signal, counts map[string]int) {
	counts = map[string]int{}
	var m merged
	for _, r := range rs {
		s := driver.Signal{Queue: r.Queue}
		if !r.RunAt.IsZero() {
			s.In = time.Until(r.RunAt)
		}
		m.add(s)
		counts[r.Queue]++
	}
	return m.signals, counts
}
