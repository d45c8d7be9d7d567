package imagegen

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Outcome is the result of one request of a batch: what [Client.Generate] returned.
type Outcome struct {
	Result *Result
	Err    error
}

// Batch generates many requests, at most limit (at least 1) at a time, each into its own sink, and
// yields them in the order they finish. It reads requests one step ahead at most, and no further
// once ctx has ended. When the service refuses one request with Retry-After, no other request of
// the batch is sent before that time has passed.
//
// Leaving the loop cancels the running requests and waits for them to end. A request that was
// already sent is charged all the same.
func (c *Client) Batch(
	ctx context.Context, limit int, requests iter.Seq2[*Request, Sink],
) iter.Seq2[*Request, Outcome] {
	type done struct {
		req *Request
		out Outcome
	}
	return func(yield func(*Request, Outcome) bool) {
		ctx, cancel := context.WithCancel(ctx)
		left := make(chan struct{}) // closed when the caller leaves the loop
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		defer close(left)
		shared := &gate{}
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
					call := c.newCall()
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

// gate holds back the requests of a batch until Retry-After has passed. A nil gate is always open.
type gate struct {
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
		left := time.Until(g.until)
		g.mu.Unlock()
		if err := sleep(ctx, left); err != nil || left <= 0 {
			return err
		}
	}
}
