package jobqueue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/bench/harness"
)

// networkDelay is the time that each direction takes between a worker and PostgreSQL.
const networkDelay = time.Millisecond

// network measures drain and latency with a delay between workers and PostgreSQL. What empties and
// fills tables and reads the log position is connected directly.
func (b *bench) network(ctx context.Context) error {
	ours, river, err := b.contenders(ctx, "network")
	if err != nil {
		return err
	}
	relays := map[*contender]*harness.Child{}
	for _, f := range []*contender{ours, river} {
		if relays[f], f.url, err = b.startRelay(f.url, networkDelay); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		name                  string
		processes, maxWorkers int
	}{
		{"1 ms network: drain, 1 process", 1, 2000},
		{"1 ms network: drain, 4 processes", 4, 2000},
		{"1 ms network: drain, 50 workers, default settings", 1, 50},
	} {
		cpu := map[*contender][]float64{} // of the relays
		measure := func(f *contender) func() (float64, error) {
			return func() (float64, error) {
				if err := f.reset(ctx, drainJobs); err != nil {
					return 0, err
				}
				before := cpuOf(relays[f].Pid())
				r, err := f.drain(ctx, drainJobs, c.processes, c.maxWorkers)
				cpu[f] = append(cpu[f], float64((cpuOf(relays[f].Pid())-before).Microseconds())/drainJobs)
				return r.rate, err
			}
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "River", Must: 4}
		if err := b.Alternate(row, measure(ours), measure(river)); err != nil {
			return err
		}
		b.Add(harness.Row{Name: c.name + ": CPU of the relay a job", Unit: "µs", PeerName: "River",
			Better: harness.Lower, Ours: cpu[ours], Peer: cpu[river]})
	}
	// A job starts after the same passages of the network in both systems. To enqueue one takes one
	// round trip or several.
	name := "1 ms network: enqueue to start"
	if err := b.alternateLatency(ctx, ours, river, name+", enqueued beside PostgreSQL", 0, 1); err != nil {
		return err
	}
	for _, f := range []*contender{ours, river} {
		pool, err := pgxpool.New(ctx, f.url)
		if err != nil {
			return err
		}
		defer pool.Close()
		if f.system, err = newSystem(f.name, pool); err != nil {
			return err
		}
	}
	return b.alternateLatency(ctx, ours, river, name, 0.7, 1)
}
