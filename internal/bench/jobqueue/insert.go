package jobqueue

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/internal/bench/harness"
)

func (b *bench) insert(ctx context.Context) {
	ours, river := b.contenders(ctx, "insert")
	one := func(f *contender, i int) error { return f.insert(ctx, argsOf(i)) }
	many := func(f *contender, _ int) error { return f.insertMany(ctx, 1000) }
	fast := func(f *contender, _ int) error { return f.insertFast(ctx, 10_000) }
	for _, c := range []struct {
		name        string
		calls, jobs int // calls, and jobs of each
		call        func(f *contender, i int) error
		must        float64
	}{
		{"insert one by one", 2000, 1, one, 1.7},
		{"insert 1000 at a time", 40, 1000, many, 1.9},
		{"insert 10000 at a time, River by COPY", 10, 10_000, fast, 1.2},
	} {
		measure := func(f *contender) func() float64 {
			return func() float64 {
				f.reset(ctx, 0)
				took := concurrently(1, c.calls, func(i int) error { return c.call(f, i) })
				return float64(c.calls*c.jobs) / took.Seconds()
			}
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "River", Must: c.must}
		b.Alternate(row, measure(ours), measure(river))
	}
}

// concurrently makes calls calls in each of callers goroutines and returns how long that took.
func concurrently(callers, calls int, call func(i int) error) time.Duration {
	begin := time.Now()
	var group errgroup.Group
	for range callers {
		group.Go(func() error {
			for i := range calls {
				if err := call(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	harness.Check(group.Wait())
	return time.Since(begin)
}
