package jobqueue

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/internal/bench/harness"
)

func (b *bench) insert(ctx context.Context) error {
	ours, river, err := b.contenders(ctx, "insert")
	if err != nil {
		return err
	}
	one := func(f *contender, i int) error { return f.insert(ctx, argsOf(i)) }
	many := func(f *contender, _ int) error { return f.insertMany(ctx, 1000) }
	fast := func(f *contender, _ int) error { return f.insertFast(ctx, 10_000) }
	for _, c := range []struct {
		name      string
		writers   int
		calls     int // of each writer
		jobs      int // of each call
		call      func(f *contender, i int) error
		must, aim float64
	}{
		{"insert one by one", 1, 2000, 1, one, 1.7, 2.2},
		{"insert one by one, 8 writers", 8, 500, 1, one, 0, 1.2},
		{"insert 1000 at a time", 1, 40, 1000, many, 1.9, 2.6},
		{"insert 10000 at a time, River by COPY", 1, 10, 10_000, fast, 1.2, 1.6},
	} {
		measure := func(f *contender) func() (float64, error) {
			return func() (float64, error) {
				if err := f.reset(ctx, 0); err != nil {
					return 0, err
				}
				took, err := concurrently(c.writers, c.calls, func(i int) error { return c.call(f, i) })
				return float64(c.writers*c.calls*c.jobs) / took.Seconds(), err
			}
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "River", Must: c.must, Aim: c.aim}
		if err := b.Alternate(row, measure(ours), measure(river)); err != nil {
			return err
		}
	}
	return nil
}

// concurrently makes calls calls in each of callers goroutines and returns how long that took.
func concurrently(callers, calls int, call func(i int) error) (time.Duration, error) {
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
	err := group.Wait()
	return time.Since(begin), err
}
