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

	drains []result
}

func (b *bench) contender(ctx context.Context, name, database string) *contender {
	f := &contender{name: name, b: b}
	f.url = b.pg.database(ctx, database)
	f.pool = harness.Must(pgxpool.New(ctx, f.url))
	f.system = newSystem(name, f.pool)
	harness.Check(f.migrate(ctx))
	return f
}

func (b *bench) contenders(ctx context.Context, part string) (ours, river *contender) {
	return b.contender(ctx, "ours", part+"_ours"), b.contender(ctx, "river", part+"_river")
}

func (f *contender) empty(ctx context.Context) {
	harness.Must(f.pool.Exec(ctx, "truncate "+f.tables()))
}

// reset leaves the tables with n jobs.
func (f *contender) reset(ctx context.Context, n int) {
	f.empty(ctx)
	f.fill(ctx, n)
}

// fill adds n jobs and settles the database.
func (f *contender) fill(ctx context.Context, n int) {
	const chunk = 10_000
	for ; n > 0; n -= chunk {
		harness.Check(f.insertFast(ctx, min(n, chunk)))
	}
	settle(ctx, f.pool)
}

// result is the result of one drain.
type result struct {
	rate     float64 // jobs per second
	cpu      float64 // PostgreSQL's microseconds a job
	walBytes float64 // a job
}

const drainJobs = 100_000

// drain runs jobs that are there already.
func (f *contender) drain(ctx context.Context, jobs, processes int) (r result) {
	wal0 := wal(ctx, f.pool)
	cpu0 := harness.TreeTime(f.b.pg.pid)
	took := f.b.workUntil(jobs, processes, childSpec{System: f.name, URL: f.url, MaxWorkers: 2000})
	cpu, wal1 := harness.TreeTime(f.b.pg.pid)-cpu0, wal(ctx, f.pool)
	n := float64(jobs)
	return result{rate: n / took.Seconds(), cpu: float64(cpu) / n / 1000, walBytes: float64(wal1-wal0) / n}
}

// drained returns a measure of the drain of new jobs.
func (f *contender) drained(ctx context.Context, processes int) func() float64 {
	return func() float64 {
		f.reset(ctx, drainJobs)
		r := f.drain(ctx, drainJobs, processes)
		f.drains = append(f.drains, r)
		return r.rate
	}
}

// compareDrains adds a row for each number of processes.
func (b *bench) compareDrains(ctx context.Context, ours, river *contender, prefix string, must float64,
	processes ...int) {
	for _, n := range processes {
		name := fmt.Sprintf("%sdrain, processes: %d", prefix, n)
		row := harness.Row{Name: name, Unit: "jobs/s", PeerName: "River", Must: must}
		b.Alternate(row, ours.drained(ctx, n), river.drained(ctx, n))
	}
}

func (b *bench) drain(ctx context.Context) {
	ours, river := b.contenders(ctx, "drain")
	b.compareDrains(ctx, ours, river, "", 3, 1, 2, 4)
	cpu := harness.Row{Name: "PostgreSQL CPU a job, drain", Unit: "µs", PeerName: "River", Better: harness.Lower,
		Must: 0.35}
	log := harness.Row{Name: "WAL a job, drain", Unit: "bytes", PeerName: "River", Better: harness.Lower, Must: 0.40}
	for i, r := range ours.drains[:b.Pairs] { // by one process
		peer := river.drains[i]
		cpu.Ours, cpu.Peer = append(cpu.Ours, r.cpu), append(cpu.Peer, peer.cpu)
		log.Ours, log.Peer = append(log.Ours, r.walBytes), append(log.Peer, peer.walBytes)
	}
	b.Add(cpu)
	b.Add(log)
}

// keys compares jobs of 1000 limit keys, of which ten run at a time, with jobs without keys.
func (b *bench) keys(ctx context.Context) {
	keyed, plain := b.contender(ctx, "ours", "keys_keyed"), b.contender(ctx, "ours", "keys_plain")
	keyed.system.(*ours).keys = 1000
	for _, n := range []int{1, 4} {
		row := harness.Row{Name: fmt.Sprintf("drain of 1000 keys, processes: %d", n), Unit: "jobs/s",
			PeerName: "without keys", Must: 0.7}
		b.Alternate(row, keyed.drained(ctx, n), plain.drained(ctx, n))
	}
}

// raw compares the drain with plain SQL on one connection: claim 3000, finish 3000, as fast as
// possible.
func (b *bench) raw(ctx context.Context) {
	f := b.contender(ctx, "ours", "raw")
	raw := func() float64 {
		f.reset(ctx, drainJobs)
		return rawRate(ctx, f)
	}
	row := harness.Row{Name: "drain against raw SQL in series", Unit: "jobs/s", PeerName: "raw", Must: 0.85}
	b.Alternate(row, f.drained(ctx, 1), raw)
}

const rawClaim = `
update jobqueue_job set worker = 1, fence = fence + 1, attempt = attempt + 1
where ctid = any (array(
  select ctid from jobqueue_job where kind = 'bench' and queue = 'default' and priority = 2 and worker is null
    and run_at <= now()
  order by run_at, id limit 3000))
returning id, fence, attempt, max_attempts, priority, queue, kind, args, run_at, created_at`

const rawFinish = `
with gone as (delete from jobqueue_job where id = any ($1::bigint[]) returning *)
insert into jobqueue_done (id, state, run_at, created_at, fence, attempt, max_attempts, priority,
  queue, kind, unique_key, args, errors)
select id, 4, run_at, created_at, fence, attempt, max_attempts, priority,
  queue, kind, unique_key, args, errors
from gone`

func rawRate(ctx context.Context, f *contender) float64 {
	conn := harness.Must(f.pool.Acquire(ctx))
	defer conn.Release()
	begin := time.Now()
	total := 0
	for {
		rows := harness.Must(conn.Query(ctx, rawClaim))
		ids := harness.Must(pgx.CollectRows(rows, func(row pgx.CollectableRow) (int64, error) {
			var id int64
			var fence, attempt, limit, priority int32
			var queue, kind string
			var args []byte
			var runAt, created time.Time
			err := row.Scan(&id, &fence, &attempt, &limit, &priority, &queue, &kind, &args, &runAt, &created)
			return id, err
		}))
		if len(ids) == 0 {
			break
		}
		harness.Must(conn.Exec(ctx, rawFinish, ids))
		total += len(ids)
	}
	if total != drainJobs {
		harness.Check(fmt.Errorf("raw SQL did %d jobs", total))
	}
	return float64(total) / time.Since(begin).Seconds()
}
