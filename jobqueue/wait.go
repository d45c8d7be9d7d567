package jobqueue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Wait returns a job, as Get does, once it has succeeded, failed or been cancelled: State says how
// it has ended, Saved is what its handler has saved. It returns ErrNotFound for an unknown id, and
// for a job whose queue keeps no history when that has ended. When ctx ends first, it returns the
// cause; the job goes on. It waits on while the database is not available. A handler that waits
// occupies one of MaxWorkers, so the jobs that it waits for need another queue.
//
// Any process may wait for a job of any other. It polls, and learns of the end about 50 ms after
// the commit, or for jobs that take long after a quarter of that time, at most a second. All calls
// of a client poll together, by one statement at a time, so 10,000 of them need one connection.
func (c *Client) Wait(ctx context.Context, id int64) (*Job, error) {
	for {
		job, err := c.Get(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil, failed(context.Cause(ctx), "wait for job %d", id)
		case errors.Is(err, ErrUnavailable): // look again
		case err != nil || job.State.Finished():
			return job, err
		}
		w := &waiting{id: id, since: time.Now(), ended: make(chan struct{})}
		c.waiters.add(c.store, w)
		select {
		case <-w.ended:
		case <-ctx.Done():
			c.waiters.remove(w)
		}
	}
}

const (
	minWaitPause = 20 * time.Millisecond
	maxWaitPause = time.Second
	waitTimeout  = 15 * time.Second // of a statement
	waitBatch    = 10_000           // jobs of a statement
)

type waiting struct {
	id    int64
	since time.Time
	next  time.Time     // when to look
	ended chan struct{} // closed when the job is no longer unfinished
}

// waiters are the calls of Wait of one client. A goroutine looks for their jobs while there are
// any.
type waiters struct {
	mu      sync.Mutex
	all     map[*waiting]struct{}
	changed chan struct{} // nil: no goroutine
}

func (ws *waiters) add(s Store, w *waiting) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.next = w.since.Add(minWaitPause)
	if ws.all == nil {
		ws.all = map[*waiting]struct{}{}
	}
	ws.all[w] = struct{}{}
	if ws.changed == nil {
		ws.changed = make(chan struct{}, 1)
		go ws.run(s, ws.changed)
	}
	notify(ws.changed)
}

func (ws *waiters) remove(w *waiting) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
	if ws.changed != nil {
		notify(ws.changed)
	}
}

func (ws *waiters) run(s Store, changed <-chan struct{}) {
	for {
		due, pause, ok := ws.due()
		if !ok {
			return
		}
		if len(due) == 0 {
			wait(context.Background(), pause, changed)
		} else if left := ws.look(s, due); left == 0 {
			continue
		}
		time.Sleep(minWaitPause) // many times in a row become few statements
	}
}

// due returns the calls whose jobs to look for now, or how long to wait for the next one. If there
// are none, ok is false and the goroutine has ended.
func (ws *waiters) due() (due []*waiting, pause time.Duration, ok bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.all) == 0 {
		ws.changed = nil
		return nil, 0, false
	}
	pause = maxWaitPause
	now := time.Now()
	for w := range ws.all {
		if wait := w.next.Sub(now); wait > 0 {
			pause = min(pause, wait)
		} else if len(due) < waitBatch {
			due = append(due, w)
		}
	}
	return due, pause, true
}

// look ends the calls whose jobs are no longer unfinished, and returns how many calls are left.
func (ws *waiters) look(s Store, due []*waiting) int {
	ids := make([]int64, len(due))
	for i, w := range due {
		ids[i] = w.id
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	found, err := s.Unfinished(ctx, ids)
	unfinished := make(map[int64]bool, len(found))
	for _, id := range found {
		unfinished[id] = true
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	now := time.Now()
	for _, w := range due {
		if err == nil && !unfinished[w.id] {
			close(w.ended)
			delete(ws.all, w)
			continue
		}
		w.next = now.Add(min(max(now.Sub(w.since)/4, minWaitPause), maxWaitPause))
	}
	return len(ws.all)
}
