package jobqueue

import (
	"context"
	"sync"
	"time"

	"lessonkit.example/internal/bench/harness"
)

func insert(ctx context.Context, b *bench) error {
	ours, river, err := b.fields(ctx, "insert")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name      string
		writers   int
		calls     int // of each writer
		jobs      int // of each call
		call      func(f *field, i int) error
		must, aim float64
	}{
		{"insert one by one", 1, 2000, 1, func(f *field, i int) error { return f.insert(ctx, argsOf(i)) }, 1.7, 2.2},
		{"insert one by one, 8 writers", 8, 500, 1, func(f *field, i int) error { return f.insert(ctx, argsOf(i)) }, 0, 1.2},
		{"insert 1000 at a time", 1, 40, 1000, func(f *field, _ int) error { return f.insertMany(ctx, 1000) }, 1.9, 2.6},
		{"COPY 10000 at a time", 1, 10, 10_000, func(f *field, _ int) error { return f.copyIn(ctx, 10_000) }, 2, 3},
	} {
		measure := func(f *field) func() (float64, error) {
			return func() (float64, error) {
				if err := f.empty(ctx); err != nil {
					return 0, err
				}
				if err := settle(ctx, f.pool); err != nil {
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
				for _, err := range errs {
					if err != nil {
						return 0, err
					}
				}
				return float64(c.writers*c.calls*c.jobs) / time.Since(begin).Seconds(), nil
			}
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "River", Must: c.must, Aim: c.aim}
		if err := b.Alternate(row, measure(ours), measure(river)); err != nil {
			return err
		}
	}
	return nil
}
