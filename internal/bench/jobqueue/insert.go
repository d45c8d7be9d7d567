package jobqueue

import (
	"context"
	"errors"
	"sync"
	"time"

	"lessonkit.example/internal/bench/harness"
)

func insert(ctx context.Context, b *bench) error {
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
				begin := time.Now()
				errs := make([]error, c.writers)
				var group sync.WaitGroup
				for w := range c.writers {
					group.Go(func() {
						for i := range c.calls {
							if err := c.call(f, i); err != nil {
								errs[w] = err
								return
							}
						}
					})
				}
				group.Wait()
				return float64(c.writers*c.calls*c.jobs) / time.Since(begin).Seconds(), errors.Join(errs...)
			}
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "River", Must: c.must, Aim: c.aim}
		if err := b.Alternate(row, measure(ours), measure(river)); err != nil {
			return err
		}
	}
	return nil
}
