package jobqueue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lessonkit.example/internal/bench/harness"
)

// latency measures the time from the call that enqueues a job to the start of its handler in
// another process, with one job every 10 ms.
func (b *bench) latency(ctx context.Context) error {
	ours, river, err := b.contenders(ctx, "latency")
	if err != nil {
		return err
	}
	return b.alternateLatency(ctx, ours, river, "enqueue to start", 0.9, 1)
}

// alternateLatency adds a row for the median and one for the 99th percentile, with their bounds.
func (b *bench) alternateLatency(
	ctx context.Context, ours, river *contender, name string, median, tail float64,
) error {
	row := harness.Row{
		Name: name + ", p50", Unit: "ms", PeerName: "River (fast settings)", Better: harness.Lower,
		Must: median,
	}
	p99 := row
	p99.Name, p99.Must = name+", p99", tail
	measure := func(f *contender, p99 *[]float64) func() (float64, error) {
		return func() (float64, error) {
			all, err := f.latencies(ctx, 500)
			if err != nil {
				return 0, err
			}
			*p99 = append(*p99, all[len(all)*99/100])
			return all[len(all)/2], nil
		}
	}
	if err := b.Alternate(row, measure(ours, &p99.Ours), measure(river, &p99.Peer)); err != nil {
		return err
	}
	b.Add(p99)
	return nil
}

func (f *contender) latencies(ctx context.Context, n int) ([]float64, error) {
	if err := f.reset(ctx, 0); err != nil {
		return nil, err
	}
	c, err := f.b.startWorker(childSpec{System: f.name, URL: f.url, Latency: true, MaxWorkers: 50})
	if err != nil {
		return nil, err
	}
	if err := c.Send("go"); err != nil {
		return nil, err
	}
	const warm = 50
	done := make(chan []float64, 1)
	go func() {
		var all []float64
		var ns float64
		for len(all) < warm+n && c.Next(&ns) == nil {
			all = append(all, ns/1e6)
		}
		done <- all
	}()
	time.Sleep(2 * time.Second) // until it listens for notifications
	for i := range warm + n {
		next := time.Now().Add(10 * time.Millisecond)
		a := argsOf(i)
		a.Started = time.Now().UnixNano()
		if err := f.insert(ctx, a); err != nil {
			return nil, err
		}
		time.Sleep(time.Until(next))
	}
	all := <-done
	if err := c.Stop(); err != nil {
		return nil, err
	}
	if len(all) != warm+n {
		return nil, fmt.Errorf("%d of %d jobs started", len(all), warm+n)
	}
	all = all[warm:]
	slices.Sort(all)
	return all, nil
}
