package jobqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/bench/harness"
)

// childSpec is the spec of a worker process.
type childSpec struct {
	System     string
	URL        string
	MaxWorkers int
	Latency    bool       // report the nanoseconds from enqueuing to the start of the handler of each job
	Relay      *relaySpec `json:",omitempty"` // be a relay instead
}

// child reports 0 when it is ready, waits for a line, and runs jobs until it is stopped. Whenever
// the number of completed jobs has changed, it reports that, unless the spec has Latency.
func child(s childSpec) error {
	if s.Relay != nil {
		return runRelay(*s.Relay)
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, s.URL)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := pool.Ping(ctx); err != nil {
		return err
	}
	sys, err := newSystem(s.System, pool)
	if err != nil {
		return err
	}
	if err := harness.Report(0); err != nil {
		return err
	}
	var line string
	if _, err := fmt.Scanln(&line); err != nil {
		return err
	}
	ctx = harness.UntilStopped()
	if s.Latency {
		return sys.work(ctx, s.MaxWorkers, func(a Args) {
			_ = harness.Report(time.Now().UnixNano() - a.Started)
		}, func() {})
	}
	var count atomic.Int64
	go func() {
		for last := int64(0); ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
			if n := count.Load(); n != last {
				_ = harness.Report(n)
				last = n
			}
		}
	}()
	return sys.work(ctx, s.MaxWorkers, func(Args) {}, func() { count.Add(1) })
}

// startWorker starts a worker process and waits until it is ready.
func (b *bench) startWorker(s childSpec) (*harness.Child, error) {
	c, err := b.StartChild(s)
	if err != nil {
		return nil, err
	}
	var count int
	return c, c.Next(&count)
}

// workUntil runs worker processes until they have completed n jobs together and returns how long
// that took.
func (b *bench) workUntil(n, processes int, s childSpec) (took time.Duration, err error) {
	workers := make([]*harness.Child, processes)
	for i := range workers {
		if workers[i], err = b.startWorker(s); err != nil {
			return 0, err
		}
	}
	var total atomic.Int64
	done := make(chan struct{})
	var once sync.Once
	begin := time.Now()
	for _, c := range workers {
		if err := c.Send("go"); err != nil {
			return 0, err
		}
	}
	for _, c := range workers {
		go func() {
			var last, count int64
			for c.Next(&count) == nil {
				if total.Add(count-last) >= int64(n) {
					once.Do(func() { took = time.Since(begin); close(done) })
				}
				last = count
			}
		}()
	}
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		return 0, fmt.Errorf("%s: %d of %d jobs after 5 minutes", s.System, total.Load(), n)
	}
	for _, c := range workers {
		err = errors.Join(err, c.Stop())
	}
	return took, err
}
