package jobqueue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/internal/bench/harness"
)

// backlog compares the drain with a large table with the drain of an empty one.
func (b *bench) backlog(ctx context.Context) error {
	none, err := b.contender(ctx, "ours", "backlog_none")
	if err != nil {
		return err
	}
	const args = `
  json_build_object('n', n, 'started', 0, 'name', 'Ada Lovelace', 'address', '12 St James''s Square, London')`
	for _, c := range []struct {
		name, seed string
	}{
		{"drain with 1M finished", `
insert into jobqueue_done (id, state, run_at, created_at, fence, attempt, max_attempts, priority, until_started,
  queue, kind, args)
select -n, 4, now(), now(), 1, 1, 10, 2, false, 'default', 'bench', ` + args + `
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
		full, err := b.contender(ctx, "ours", "backlog_full")
		if err != nil {
			return err
		}
		if _, err := full.pool.Exec(ctx, c.seed); err != nil {
			return err
		}
		measure := func(f *contender) func() (float64, error) {
			return func() (float64, error) {
				if err := f.fill(ctx, drainJobs); err != nil {
					return 0, err
				}
				r, err := f.drain(ctx, drainJobs, 1)
				if err != nil {
					return 0, err
				}
				// Remove what the workers left or recorded, keep the seed.
				if f == none {
					err = f.empty(ctx)
				} else {
					_, err = f.pool.Exec(ctx, `delete from jobqueue_done where id > 0`)
				}
				return r.rate, err
			}
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "empty", Must: 0.85}
		if err := b.Alternate(row, measure(full), measure(none)); err != nil {
			return err
		}
		full.pool.Close()
	}
	none.pool.Close()
	return nil
}

// pinned drains while another transaction keeps every dead row from being vacuumed.
func (b *bench) pinned(ctx context.Context) error {
	const jobs = 500_000
	ours, river, err := b.contenders(ctx, "pinned")
	if err != nil {
		return err
	}
	measure := func(f *contender) func() (float64, error) {
		return func() (float64, error) {
			if err := f.reset(ctx, jobs); err != nil {
				return 0, err
			}
			tx, err := f.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
			if err != nil {
				return 0, err
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, "select 1 from pg_class limit 1"); err != nil {
				return 0, err
			}
			r, err := f.drain(ctx, jobs, 1)
			return r.rate, err
		}
	}
	row := harness.Row{Name: "drain 500k, vacuum held back", Unit: "jobs/s", PeerName: "River", Must: 5}
	return b.Alternate(row, measure(ours), measure(river))
}
