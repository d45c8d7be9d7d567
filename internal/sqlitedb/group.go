package sqlitedb

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// Group gathers the transactions of concurrent callers into one, so that they
// share one commit and its disk flush (group commit). A caller alone pays
// nothing: its function runs in a plain transaction at once.
//
// A Group has no goroutine of its own. The first caller leads: it runs what
// waits, commits, and hands on to the next. It is safe for concurrent use.
type Group struct {
	w *sql.DB

	mu      sync.Mutex
	waiting []*call
	leading bool
}

// NewGroup returns a group over a pool with a single connection, as [Open]
// makes for writing.
func NewGroup(w *sql.DB) *Group { return &Group{w: w} }

// maxBatch bounds how long the first of a batch waits for the last.
const maxBatch = 64

type call struct {
	fn       func(*sql.Tx) error
	err      error
	panicked any

	taken bool          // under Group.mu: a leader has it, it can no longer be withdrawn
	lead  chan struct{} // closed when this call's goroutine has to lead
	done  chan struct{} // closed when err is set
}

// Do runs fn inside a write transaction and returns once its effects are
// committed. fn's own error rolls back what fn did and nothing else. fn may
// run on another caller's goroutine, and may run a second time when the
// transaction it shared was lost, so it must set, not add to, what it
// captures. It must not use the pool, nor call Do.
//
// A ctx that ends while others run takes the call back. Once its turn has come
// Do waits for the outcome, for as long as the busy timeout while another
// process writes.
func (g *Group) Do(ctx context.Context, fn func(tx *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &call{fn: fn, lead: make(chan struct{}), done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, c)
	lead := !g.leading
	g.leading = true
	g.mu.Unlock()

	if !lead {
		select {
		case <-c.done:
			return c.outcome()
		case <-c.lead:
		case <-ctx.Done():
			if g.withdraw(c) {
				return ctx.Err()
			}
			select {
			case <-c.done:
				return c.outcome()
			case <-c.lead:
			}
		}
	}
	g.runBatch()
	<-c.done
	return c.outcome()
}

func (c *call) outcome() error {
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.err
}

// withdraw takes c back unless somebody runs it or it was called to lead.
func (g *Group) withdraw(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.taken {
		return false
	}
	for i, w := range g.waiting {
		if w == c {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			break
		}
	}
	return true
}

// runBatch runs what waits, the leader's own call among it, and passes the
// lead on.
func (g *Group) runBatch() {
	g.mu.Lock()
	n := min(len(g.waiting), maxBatch)
	batch := append([]*call(nil), g.waiting[:n]...)
	g.waiting = append(g.waiting[:0:0], g.waiting[n:]...)
	for _, c := range batch {
		c.taken = true
	}
	g.mu.Unlock()

	defer func() {
		for _, c := range batch {
			close(c.done)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.waiting) == 0 {
			g.leading = false
			return
		}
		next := g.waiting[0]
		next.taken = true // it leads, and so runs: it can no longer be withdrawn
		close(next.lead)
	}()

	if len(batch) > 1 && g.together(batch) {
		return
	}
	for _, c := range batch {
		g.alone(c)
	}
}

// alone runs one call in a transaction of its own. The context is the
// background one on purpose: the work is short, and an interrupted statement
// would roll back more than itself.
func (g *Group) alone(c *call) {
	tx, err := g.w.Begin()
	if err != nil {
		c.err = err
		return
	}
	defer tx.Rollback() // without effect after the commit
	if c.run(tx); c.err != nil {
		return
	}
	c.err = tx.Commit()
}

// together runs a batch in one transaction, each call under a savepoint. It
// reports false when the transaction as a whole came to nothing.
func (g *Group) together(batch []*call) bool {
	tx, err := g.w.Begin()
	if err != nil { // nobody's own doing; alone, each would wait as long once more
		for _, c := range batch {
			c.err = err
		}
		return true
	}
	defer tx.Rollback() // without effect after the commit
	for _, c := range batch {
		if _, err := tx.Exec("savepoint one"); err != nil {
			return false
		}
		if c.run(tx); c.err != nil {
			if _, err := tx.Exec("rollback to one"); err != nil {
				return false
			}
		}
		if _, err := tx.Exec("release one"); err != nil {
			return false
		}
	}
	return tx.Commit() == nil
}

// run sets err and panicked afresh: the call may have run before.
func (c *call) run(tx *sql.Tx) {
	c.err, c.panicked = nil, nil
	defer func() {
		if v := recover(); v != nil {
			c.panicked, c.err = v, fmt.Errorf("panic: %v", v)
		}
	}()
	c.err = c.fn(tx)
}
