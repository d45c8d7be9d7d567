package imagegen

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Outcome is how one request of a batch ended: what [Client.Generate] returned for it.
type Outcome struct {
	Result *Result
	Err    error
}

// Batch generates many requests, at most limit of them at a time (less than 1 means 1), each into its own sink, and yields them
// in the order they finish. requests is read one step ahead at most, and no further once ctx has ended. When the service declines one request with 429 or 503 and
// Retry-After, no other request of the batch is sent before that time has passed.
//
// Leaving the loop cancels what is under way and waits for it to end; a request that has been sent is charged all the same, so
// leave early only when that is meant.
func (c *Client) Batch(ctx context.Context, limit int, requests iter.Seq2[*Request, Sink]) iter.Seq2[*Request, Outcome] {
	type done struct {
		req *Request
		out Outcome
	}
	return func(yield func(*Request, Outcome) bool) {
		ctx, cancel := context.WithCancel(ctx)
		left := make(chan struct{}) // closed when nobody reads results any more
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		defer close(left)
		shared := &gate{now: c.now}
		results := make(chan done)
		slots := make(chan struct{}, max(limit, 1))
		running.Go(func() {
			defer close(results)
			var work sync.WaitGroup
			defer work.Wait()
			for req, sink := range requests {
				slots <- struct{}{}
				if ctx.Err() != nil {
					return
				}
				work.Go(func() {
					call := c.begin()
					call.gate = shared
					r, err := call.generate(ctx, req, sink)
					<-slots
					select {
					case results <- done{req, Outcome{r, err}}:
					case <-left:
					}
				})
			}
		})
		for d := range results {
			if !yield(d.req, d.out) {
				return
			}
		}
	}
}

// gate holds back the requests of a batch while the service wants to be left alone. A nil gate is always open.
type gate struct {
	now   func() time.Time
	mu    sync.Mutex
	until time.Time
}

func (g *gate) close(until time.Time) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.until) {
		g.until = until
	}
}

func (g *gate) wait(ctx context.Context) error {
	if g == nil {
		return ctx.Err()
	}
	for {
		g.mu.Lock()
		left := g.until.Sub(g.now())
		g.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		if err := pause(ctx, left); err != nil {
			return err
		}
	}
}
