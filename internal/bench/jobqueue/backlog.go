package jobqueue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/internal/bench/harness"
)

// backlog compares the drain with a large table with the drain of an empty one.
func (b *bench) backlog(ctx context.Context) {
	none := b.contender(ctx, "ours", "backlog_none")
	const args = `
  json_build_object('n', n, 'started', 0, 'name', 'Ada Lovelace', 'address', '12 St James''s Square, London')`
	for _, c := range []struct {
		name, seed string
	}{
		{"drain with 1M finished", `
insert into jobqueue_done (id, state, run_at, created_at, fence, attempt, max_attempts, priority,
  queue, kind, args)
select -n, 4, now(), now(), 1, 1, 10, 2, 'default', 'bench', ` + args + `
from generate_series(1, 1000000) n`},
		{"drain with 1M waiting", `
insert into jobqueue_job (priority, max_attempts, queue, kind, args)
select 2, 10, 'default', 'bench', ` + args + `
from generate_series(1, 1000000) n`},
		{"drain with 500k scheduled", `
insert into jobqueue_job (run_at, priority, max_attempts, queue, kind, args)
select now() + interval '1 day' + n * interval '1 second', 2, 10, 'default', 'bench', ` + args + `
from generate_series(1, 500000) n`},
	} {
		full := b.contender(ctx, "ours", "backlog_full")
		harness.Must(full.pool.Exec(ctx, c.seed))
		measure := func(f *contender) func() float64 {
			return func() float64 {
				f.fill(ctx, drainJobs)
				r := f.drain(ctx, drainJobs, 1)
				// Remove what the workers left or recorded, keep the seed.
				if f == none {
					f.empty(ctx)
				} else {
					harness.Must(f.pool.Exec(ctx, `delete from jobqueue_done where id > 0`))
				}
				return r.rate
			}
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "empty", Must: 0.85}
		b.Alternate(row, measure(full), measure(none))
		full.pool.Close()
	}
	none.pool.Close()
}

// pinned drains while another transaction keeps every dead row from being vacuumed.
func (b *bench) pinned(ctx context.Context) {
	const jobs = 500_000
	ours, river := b.contenders(ctx, "pinned")
	measure := func(f *contender) func() float64 {
		return func() float64 {
			f.reset(ctx, jobs)
			tx := harness.Must(f.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))
			defer tx.Rollback(ctx)
			harness.Must(tx.Exec(ctx, "select 1 from pg_class limit 1"))
			return f.drain(ctx, jobs, 1).rate
		}
	}
	row := harness.Row{Name: "drain 500k, vacuum held back", Unit: "jobs/s", PeerName: "River", Must: 5}
	b.Alternate(row, measure(ours), measure(river))
}
