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
func (b *bench) latency(ctx context.Context) {
	ours, river := b.contenders(ctx, "latency")
	b.alternateLatency(ctx, ours, river, "enqueue to start", 0.9, 1)
}

// alternateLatency adds a row for the median and one for the 99th percentile, with their bounds.
func (b *bench) alternateLatency(
	ctx context.Context, ours, river *contender, name string, median, tail float64,
) {
	row := harness.Row{
		Name: name + ", p50", Unit: "ms", PeerName: "River (fast settings)", Better: harness.Lower,
		Must: median,
	}
	p99 := row
	p99.Name, p99.Must = name+", p99", tail
	measure := func(f *contender, p99 *[]float64) func() float64 {
		return func() float64 {
			all := f.latencies(ctx, 500)
			*p99 = append(*p99, all[len(all)*99/100])
			return all[len(all)/2]
		}
	}
	b.Alternate(row, measure(ours, &p99.Ours), measure(river, &p99.Peer))
	b.Add(p99)
}

func (f *contender) latencies(ctx context.Context, n int) []float64 {
	f.reset(ctx, 0)
	c := f.b.startWorker(childSpec{System: f.name, URL: f.url, Latency: true, MaxWorkers: 50})
	c.Send("go")
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
		harness.Check(f.insert(ctx, a))
		time.Sleep(time.Until(next))
	}
	all := <-done
	harness.Check(c.Stop())
	if len(all) != warm+n {
		harness.Check(fmt.Errorf("%d of %d jobs started", len(all), warm+n))
	}
	all = all[warm:]
	slices.Sort(all)
	return all
}
