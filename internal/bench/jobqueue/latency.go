package jobqueue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lessonkit.example/internal/bench/harness"
)

// latency measures the time from the call that enqueues a job to the start of its handler in
// another process, with one job every 10 ms.
func latency(ctx context.Context, b *bench) error {
	ours, river, err := b.contenders(ctx, "latency")
	if err != nil {
		return err
	}
	p50 := harness.Row{
		Name: "enqueue to start, p50", Unit: "ms", PeerName: "River (fast settings)", Better: harness.Lower,
		Must: 0.9, Aim: 0.6,
	}
	p99 := p50
	p99.Name, p99.Must, p99.Aim = "enqueue to start, p99", 1, 0.5
	for i := range b.Pairs {
		var values [2][2]float64
		for _, k := range []int{i % 2, 1 - i%2} {
			f := []*contender{ours, river}[k]
			all, err := f.latencies(ctx, 500)
			if err != nil {
				return err
			}
			values[k] = [2]float64{all[len(all)/2], all[len(all)*99/100]}
		}
		p50.Ours, p50.Peer = append(p50.Ours, values[0][0]), append(p50.Peer, values[1][0])
		p99.Ours, p99.Peer = append(p99.Ours, values[0][1]), append(p99.Peer, values[1][1])
		fmt.Fprintf(b.Log, "latency, pair %d of %d: p50 %.3g against %.3g, p99 %.3g against %.3g ms\n",
			i+1, b.Pairs, values[0][0], values[1][0], values[0][1], values[1][1])
	}
	b.Add(p50)
	b.Add(p99)
	return nil
}

func (f *contender) latencies(ctx context.Context, n int) ([]float64, error) {
	if err := f.reset(ctx, 0); err != nil {
		return nil, err
	}
	p, err := startProcess(childSpec{System: f.name, URL: f.url, Latency: true, MaxWorkers: 50})
	if err != nil {
		return nil, err
	}
	if err := p.begin(); err != nil {
		return nil, err
	}
	const warm = 50
	done := make(chan []float64, 1)
	go func() {
		var all []float64
		for len(all) < warm+n && p.lines.Scan() {
			ns, _ := strconv.ParseInt(p.lines.Text(), 10, 64)
			all = append(all, float64(ns)/1e6)
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
	if err := p.end(); err != nil {
		return nil, err
	}
	if len(all) != warm+n {
		return nil, fmt.Errorf("%d of %d jobs started", len(all), warm+n)
	}
	all = all[warm:]
	slices.Sort(all)
	return all, nil
}
