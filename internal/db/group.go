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
// transaction. A group has no goroutine: the callers compete for the lead, and the one that has it
// runs what is waiting.
type group struct {
	w    *sql.DB
	lead chan struct{} // its one element is in the channel while a caller leads

	mu      sync.Mutex
	waiting []*call
}

func newGroup(w *sql.DB) *group { return &group{w: w, lead: make(chan struct{}, 1)} }

// maxBatch bounds how long the first of a batch waits for the last.
const maxBatch = 64

type call struct {
	fn       func(*sql.Tx) error
	err      error
	panicked any
	done     chan struct{} // closed when err and panicked are set
}

// do runs fn in a write transaction and returns when its effects are committed. An error of fn
// rolls back what fn did and nothing else. fn may run on another caller's goroutine, and a second
// time if the shared transaction failed. It must not use the pool or call do.
//
// If ctx ends while others run, or while a transaction that the program has begun itself has the
// connection, the call is withdrawn. Once do has the connection, it waits for the result, for up to
// the busy timeout while another process writes.
func (g *group) do(ctx context.Context, fn func(tx *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &call{fn: fn, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, c)
	g.mu.Unlock()
	ended := ctx.Done()
	for {
		select {
		case <-c.done:
			if c.panicked != nil {
				panic(c.panicked)
			}
			return c.err
		case g.lead <- struct{}{}:
			g.leadOn(ctx, c)
		case <-ended:
			if g.withdraw(c) {
				return fmt.Errorf("wait to write, perhaps for a transaction of this program: %w", ctx.Err())
			}
			ended = nil
		}
	}
}

// leadOn runs a batch if nobody has begun to run c, and gives up the lead.
func (g *group) leadOn(ctx context.Context, c *call) {
	defer func() { <-g.lead }()
	if g.isWaiting(c) {
		g.runBatch(ctx)
	}
}

// withdraw removes a call that nobody has begun to run.
func (g *group) withdraw(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, c)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// isWaiting reports whether nobody has begun to run a call.
func (g *group) isWaiting(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.waiting, c)
}

// runBatch runs the first of the waiting calls, unless ctx ends before it has the connection. After
// that it deliberately uses no context of a caller: the work is short, and an interrupted statement
// would roll back more than itself.
func (g *group) runBatch(ctx context.Context) {
	conn, err := g.w.Conn(ctx)
	if err != nil && ctx.Err() != nil {
		return
	}
	g.mu.Lock()
	n := min(len(g.waiting), maxBatch)
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.mu.Unlock()
	defer func() {
		for _, c := range batch {
			close(c.done)
		}
	}()
	if err != nil {
		failAll(batch, err)
		return
	}
	defer conn.Close()
	if len(batch) > 1 && together(conn, batch) {
		return
	}
	for _, c := range batch {
		alone(conn, c)
	}
}

func failAll(batch []*call, err error) {
	for _, c := range batch {
		c.err = err
	}
}

// alone runs one call in its own transaction.
func alone(conn *sql.Conn, c *call) {
	tx, err := conn.BeginTx(context.Background(), nil)
	if err != nil {
		c.err = err
		return
	}
	defer tx.Rollback() // without effect after the commit
	if c.run(tx); c.err == nil {
		c.err = tx.Commit()
	}
}

// together runs a batch in one transaction, each call under a savepoint. It returns false if the
// transaction as a whole failed.
func together(conn *sql.Conn, batch []*call) bool {
	tx, err := conn.BeginTx(context.Background(), nil)
	if err != nil { // not a fault of any call; alone, each would wait as long again
		failAll(batch, err)
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
