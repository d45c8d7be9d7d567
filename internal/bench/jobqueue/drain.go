package jobqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/bench/harness"
)

// contender is a system with its database.
type contender struct {
	system
	name string
	url  string
	pool *pgxpool.Pool
	b    *bench
}

func (b *bench) contender(ctx context.Context, name, database string) (*contender, error) {
	f := &contender{name: name, b: b}
	var err error
	if f.url, err = b.pg.database(ctx, database); err != nil {
		return nil, err
	}
	if f.pool, err = pgxpool.New(ctx, f.url); err != nil {
		return nil, err
	}
	if f.system, err = newSystem(name, f.pool); err != nil {
		return nil, err
	}
	return f, f.migrate(ctx)
}

func (b *bench) contenders(ctx context.Context, part string) (ours, river *contender, err error) {
	if ours, err = b.contender(ctx, "ours", part+"_ours"); err != nil {
		return nil, nil, err
	}
	river, err = b.contender(ctx, "river", part+"_river")
	return ours, river, err
}

func (f *contender) empty(ctx context.Context) error {
	_, err := f.pool.Exec(ctx, "truncate "+f.tables())
	return err
}

// reset leaves the tables with n jobs.
func (f *contender) reset(ctx context.Context, n int) error {
	if err := f.empty(ctx); err != nil {
		return err
	}
	return f.fill(ctx, n)
}

// fill adds n jobs and settles the database.
func (f *contender) fill(ctx context.Context, n int) error {
	const chunk = 10_000
	for ; n > 0; n -= chunk {
		if err := f.insertFast(ctx, min(n, chunk)); err != nil {
			return err
		}
	}
	return settle(ctx, f.pool)
}

// result is the result of one drain, per job.
type result struct {
	rate           float64 // jobs per second
	serverCPU, cpu float64 // microseconds
	walBytes       float64
}

func (f *contender) drain(ctx context.Context, jobs, processes, maxWorkers int) (r result, err error) {
	wal0, err := wal(ctx, f.pool)
	if err != nil {
		return r, err
	}
	cpu0 := f.b.pg.cpu()
	took, cpu, err := f.b.workUntil(jobs, processes, childSpec{System: f.name, URL: f.url, MaxWorkers: maxWorkers})
	if err != nil {
		return r, err
	}
	wal1, err := wal(ctx, f.pool)
	n := float64(jobs)
	return result{
		rate: n / took.Seconds(), cpu: float64(cpu) / n / 1000,
		serverCPU: float64(f.b.pg.cpu()-cpu0) / n / 1000, walBytes: float64(wal1-wal0) / n,
	}, err
}

const drainJobs = 100_000

func (b *bench) drain(ctx context.Context) error {
	ours, river, err := b.contenders(ctx, "drain")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name                  string
		processes, maxWorkers int
		must, aim             float64
	}{
		{"drain, 1 process", 1, 2000, 3, 4.5},
		{"drain, 2 processes", 2, 2000, 3, 4.5},
		{"drain, 4 processes", 4, 2000, 3, 4.5},
		{"drain, 50 workers, default settings", 1, 50, 3, 6},
	} {
		var results [2][]result
		measure := func(i int, f *contender) func() (float64, error) {
			return func() (float64, error) {
				if err := f.reset(ctx, drainJobs); err != nil {
					return 0, err
				}
				r, err := f.drain(ctx, drainJobs, c.processes, c.maxWorkers)
				results[i] = append(results[i], r)
				return r.rate, err
			}
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "River", Must: c.must, Aim: c.aim}
		if err := b.Alternate(row, measure(0, ours), measure(1, river)); err != nil {
			return err
		}
		if c.processes != 1 || c.maxWorkers != 2000 {
			continue
		}
		add := func(name, unit string, must, aim float64, of func(result) float64) {
			row := harness.Row{Name: name, Unit: unit, PeerName: "River", Better: harness.Lower, Must: must, Aim: aim}
			for i := range results[0] {
				row.Ours, row.Peer = append(row.Ours, of(results[0][i])), append(row.Peer, of(results[1][i]))
			}
			b.Add(row)
		}
		add("PostgreSQL CPU a job, drain", "µs", 0.35, 0.25, func(r result) float64 { return r.serverCPU })
		add("WAL a job, drain", "bytes", 0.40, 0.30, func(r result) float64 { return r.walBytes })
		add("client CPU a job, drain", "µs", 0, 0.40, func(r result) float64 { return r.cpu })
	}
	return nil
}

// raw compares the drain with plain SQL on one connection: claim 3000, finish 3000, as fast as
// possible.
func (b *bench) raw(ctx context.Context) error {
	f, err := b.contender(ctx, "ours", "raw")
	if err != nil {
		return err
	}
	ours := func() (float64, error) {
		if err := f.reset(ctx, drainJobs); err != nil {
			return 0, err
		}
		r, err := f.drain(ctx, drainJobs, 1, 2000)
		return r.rate, err
	}
	raw := func() (float64, error) {
		if err := f.reset(ctx, drainJobs); err != nil {
			return 0, err
		}
		return rawRate(ctx, f)
	}
	return b.Alternate(harness.Row{Name: "drain against raw SQL in series", Unit: "jobs/s", PeerName: "raw",
		Must: 0.85, Aim: 1.2}, ours, raw)
}

const rawClaim = `
update jobqueue_job set worker = 1, fence = fence + 1, attempt = attempt + 1
where ctid = any (array(
  select ctid from jobqueue_job where queue = 'default' and priority = 2 and worker is null and run_at <= now()
  order by run_at, id limit 3000))
returning id, fence, attempt, max_attempts, priority, queue, kind, args, run_at, created_at`

const rawFinish = `
with gone as (delete from jobqueue_job where id = any ($1::bigint[]) returning *)
insert into jobqueue_done (id, state, run_at, created_at, fence, attempt, max_attempts, priority, until_started,
  queue, kind, unique_key, args, errors)
select id, 4, run_at, created_at, fence, attempt, max_attempts, priority, until_started,
  queue, kind, unique_key, args, errors
from gone`

func rawRate(ctx context.Context, f *contender) (float64, error) {
	conn, err := f.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	begin := time.Now()
	total := 0
	for {
		rows, err := conn.Query(ctx, rawClaim)
		if err != nil {
			return 0, err
		}
		ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (int64, error) {
			var id int64
			var fence, attempt, limit, priority int32
			var queue, kind string
			var args []byte
			var runAt, created time.Time
			err := row.Scan(&id, &fence, &attempt, &limit, &priority, &queue, &kind, &args, &runAt, &created)
			return id, err
		})
		if err != nil {
			return 0, err
		}
		if len(ids) == 0 {
			break
		}
		if _, err := conn.Exec(ctx, rawFinish, ids); err != nil {
			return 0, err
		}
		total += len(ids)
	}
	if total != drainJobs {
		return 0, fmt.Errorf("raw SQL did %d jobs", total)
	}
	return float64(total) / time.Since(begin).Seconds(), nil
}
