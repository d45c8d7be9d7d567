package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
)

// group runs the transactions of concurrent callers as one, so that they share one commit and its
// disk flush (group commit). A single caller pays nothing: its function runs at once in a plain
// transaction.
//
// A group has no goroutine. The first caller leads: it runs what is waiting, commits, and passes
// the lead to the next. It is safe for concurrent use.
type group struct {
	w *sql.DB

	mu      sync.Mutex
	waiting []*call
	leading bool
}

// maxBatch bounds how long the first of a batch waits for the last.
const maxBatch = 64

type call struct {
	fn       func(*sql.Tx) error
	err      error
	panicked any

	taken bool          // under group.mu: a leader has it; it cannot be withdrawn any more
	lead  chan struct{} // closed when the call's goroutine must lead
	done  chan struct{} // closed when err is set
}

// do runs fn in a write transaction and returns when its effects are committed. An error of fn
// rolls back what fn did and nothing else. fn may run on another caller's goroutine, and may run a
// second time if the shared transaction failed, so it must set, not add to, what it captures. It
// must not use the pool or call do.
//
// If ctx ends while others run, the call is withdrawn. Once its turn has come, do waits for the
// result, for up to the busy timeout while another process writes.
func (g *group) do(ctx context.Context, fn func(tx *sql.Tx) error) error {
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
			return c.result()
		case <-c.lead:
		case <-ctx.Done():
			if g.withdraw(c) {
				return ctx.Err()
			}
			select {
			case <-c.done:
				return c.result()
			case <-c.lead:
			}
		}
	}
	g.runBatch()
	<-c.done
	return c.result()
}

func (c *call) result() error {
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.err
}

// withdraw removes c, unless a leader has taken it or it must lead.
func (g *group) withdraw(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.taken {
		return false
	}
	g.waiting = slices.DeleteFunc(g.waiting, func(w *call) bool { return w == c })
	return true
}

// runBatch runs the waiting calls, including the leader's, and passes the lead on.
func (g *group) runBatch() {
	g.mu.Lock()
	n := min(len(g.waiting), maxBatch)
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
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
		next.taken = true
		close(next.lead)
	}()

	if len(batch) > 1 && g.together(batch) {
		return
	}
	for _, c := range batch {
		g.alone(c)
	}
}

// alone runs one call in its own transaction. It deliberately uses no context of a caller: the work
// is short, and an interrupted statement would roll back more than itself.
func (g *group) alone(c *call) {
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

// together runs a batch in one transaction, each call under a savepoint. It returns false if the
// transaction as a whole failed.
func (g *group) together(batch []*call) bool {
	tx, err := g.w.Begin()
	if err != nil { // not a fault of any call; alone, each would wait as long again
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

// run resets err and panicked, because the call may have run before.
func (c *call) run(tx *sql.Tx) {
	c.err, c.panicked = nil, nil
	defer func() {
		if v := recover(); v != nil {
			c.panicked, c.err = v, fmt.Errorf("panic: %v", v)
		}
	}()
	c.err = c.fn(tx)
}
