package jobqueue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/bench/harness"
)

type childSpec struct {
	System     string
	URL        string
	MaxWorkers int
	Latency    bool       // report the nanoseconds from enqueuing to the start of the handler of each job
	Relay      *relaySpec `json:",omitempty"` // be a relay instead
}

// child reports 0 when it is ready, waits for a line, and runs jobs until it is stopped. Whenever
// the number of completed jobs has changed, it reports that, unless the spec has Latency.
func child(s childSpec) {
	if s.Relay != nil {
		runRelay(*s.Relay)
		return
	}
	ctx := context.Background()
	pool := harness.Must(pgxpool.New(ctx, s.URL))
	defer pool.Close()
	harness.Check(pool.Ping(ctx))
	sys := newSystem(s.System, pool)
	harness.Report(0)
	var line string
	harness.Must(fmt.Scanln(&line))
	ctx = harness.UntilStopped()
	if s.Latency {
		harness.Check(sys.work(ctx, s.MaxWorkers, func(a Args) {
			harness.Report(time.Now().UnixNano() - a.Started)
		}, func() {}))
		return
	}
	var count atomic.Int64
	go func() {
		for last := int64(0); ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
			if n := count.Load(); n != last {
				harness.Report(n)
				last = n
			}
		}
	}()
	harness.Check(sys.work(ctx, s.MaxWorkers, func(Args) {}, func() { count.Add(1) }))
}

// startWorker starts a worker process and waits until it is ready.
func (b *bench) startWorker(s childSpec) *harness.Child {
	c := b.StartChild(s)
	var count int
	harness.Check(c.Next(&count))
	return c
}

// workUntil runs worker processes until they have completed n jobs together and returns how long
// that took.
func (b *bench) workUntil(n, processes int, s childSpec) (took time.Duration) {
	workers := make([]*harness.Child, processes)
	for i := range workers {
		workers[i] = b.startWorker(s)
	}
	var total atomic.Int64
	done := make(chan struct{})
	var once sync.Once
	begin := time.Now()
	for _, c := range workers {
		c.Send("go")
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
		harness.Check(fmt.Errorf("%s: %d of %d jobs after 5 minutes", s.System, total.Load(), n))
	}
	for _, c := range workers {
		harness.Check(c.Stop())
	}
	return took
}
