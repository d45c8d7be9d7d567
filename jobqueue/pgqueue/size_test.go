package pgqueue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

// seedSQL adds $1 unfinished jobs. The first quarter has a kind that nobody handles, each tenth job
// is scheduled for tomorrow at a higher priority, and the last tenth has $1 / 50 limit keys with
// one job that may start and four that are held. A fifth as many are in the history, a tenth of
// them cancelled and of a kind without callback.
const seedSQL = `
with done as (
  insert into jobqueue_done (id, state, callback_at, run_at, created_at, fence, attempt, max_attempts, priority,
    queue, kind, args)
  select -n, case when n % 10 = 1 then 6 when n % 100 = 0 then 5 else 4 end, case when n % 10 = 1 then now() end,
    now(), now(), 1, 1, 10, 2, 'default', case when n % 10 = 1 then 'nobody''s' else 'work' end, '{"n":1}'
  from generate_series(1, $1::int / 5) n)
insert into jobqueue_job (run_at, queue, kind, priority, max_attempts, args, limit_key, worker)
select now() - interval '1 hour' + n * interval '1 microsecond'
  + case when n % 10 = 9 then interval '1 day' else '0' end,
  'default', case when n <= $1 / 4 then 'nobody''s' else 'work' end, case when n % 10 = 9 then 1 else 2 end, 10,
  '{"n":1,"started":0,"name":"Ada Lovelace","address":"12 St James''s Square, London"}',
  case when n > $1::bigint * 9 / 10 then 'key ' || n % ($1 / 50) end,
  case when n > $1::bigint * 92 / 100 then 0 end
from generate_series(1, $1) n`

// explained is a pool whose server explains each statement after it has run, a store on it, and a
// function that returns the plans since its last call.
func explained(t *testing.T) (pool *pgxpool.Pool, store *pgqueue.Store, plans func() []string) {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.URL(t))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0",
		"auto_explain.log_analyze": "on", "auto_explain.log_timing": "off", "auto_explain.log_format": "json",
		"auto_explain.log_level": "notice", "jit": "on",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	var mu sync.Mutex // a store has statements of its own
	var seen []string
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if _, plan, ok := strings.Cut(n.Message, "plan:\n"); ok {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, plan)
		}
	}
	config.MaxConns = 1
	pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store = pgqueue.New(pool, pgqueue.Config{PollOnly: true}) // no statements later on
	require.NoError(t, store.Migrate(t.Context()))
	return pool, store, func() []string {
		mu.Lock()
		defer mu.Unlock()
		since := seen
		seen = nil
		return since
	}
}

// rowsRead returns how many rows of the tables the plans have read. It fails the test if all of a
// large table was read, or if a plan was compiled, which takes longer than any statement of a
// worker.
func rowsRead(t *testing.T, plans []string) (rows float64) {
	t.Helper()
	for _, plan := range plans {
		var p struct {
			Plan node
			JIT  json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(plan), &p))
		require.Empty(t, p.JIT, plan)
		for _, n := range p.Plan.all() {
			if n.Relation == "" && n.Index == "" || !strings.HasSuffix(n.Type, "Scan") {
				continue
			}
			if n.Relation == "jobqueue_job" || n.Relation == "jobqueue_done" {
				require.NotEqual(t, "Seq Scan", n.Type, plan)
			}
			rows += (n.Rows + n.Removed) * n.Loops
		}
	}
	return rows
}

// What workers and pages do reads few rows however many there are, and compiles nothing.
func TestSize(t *testing.T) {
	t.Parallel()
	const jobs = 50_000
	pool, store, plans := explained(t)
	execSQL(t, pool, `vacuum analyze`)
	saved := []driver.Saved{{Lease: driver.Lease{ID: 1, Fence: 1}, State: []byte("1")}}
	for range 6 { // after five times, PostgreSQL may keep its plan, for an empty table
		require.NoError(t, store.Save(t.Context(), 1, saved))
	}
	execSQL(t, pool, seedSQL, jobs)
	plans()
	require.NoError(t, store.Save(t.Context(), 1, saved))
	require.LessOrEqual(t, rowsRead(t, plans()), 10.0)
	execSQL(t, pool, `vacuum analyze`)
	for _, step := range sizeSteps(t, store, jobs) {
		plans()
		require.NoError(t, step.do(t.Context()), step.name)
		rows := rowsRead(t, plans())
		t.Logf("%-45s %8.0f rows", step.name, rows)
		require.LessOrEqual(t, int(rows), step.rows, step.name)
	}
}

type sizeStep struct {
	name string
	do   func(context.Context) error
	rows int // read at most
}

// sizeSteps returns what two new workers and a page do.
func sizeSteps(t *testing.T, store *pgqueue.Store, jobs int) []sizeStep {
	worker, dead := register(t, store), register(t, store)
	claim := func(worker int64, n int) func(context.Context) error {
		return func(ctx context.Context) error {
			res, err := store.Exchange(ctx, claimRequest(worker, n))
			require.Len(t, res.Jobs, n)
			return err
		}
	}
	release := func(worker int64, unregister bool, want int) func(context.Context) error {
		return func(ctx context.Context) error {
			n, err := store.Release(ctx, worker, nil, unregister)
			require.Equal(t, want, n)
			return err
		}
	}
	rescue := func(orphans bool, want int) func(context.Context) error {
		return func(ctx context.Context) error {
			n, err := store.Rescue(ctx, orphans)
			require.Equal(t, want, n)
			return err
		}
	}
	keys := 2*jobs/50 + 10 // two rows for each key, and some more
	steps := []sizeStep{
		{"claim of 1", claim(worker, 1), 1100},
		{"claim of 50", claim(worker, 50), 1300},
		{"heartbeat", func(ctx context.Context) error {
			_, _, err := store.Heartbeat(ctx, worker, time.Hour)
			return err
		}, 10},
		{"release", release(worker, false, 51), 120},
		{"claim before a stop", claim(worker, 50), 1300},
		{"stop", release(worker, true, 50), 120},
		{"claim before a death", claim(dead, 50), 1300},
		{"death", func(ctx context.Context) error {
			_, _, err := store.Heartbeat(ctx, dead, -time.Hour)
			return err
		}, 10},
		{"rescue of 50 jobs, upkeep of keys", rescue(false, 50), keys + 120},
		{"rescue of orphans, upkeep of keys", rescue(true, 0), keys + 120},
		{"readiness", func(ctx context.Context) error { _, err := store.Migrated(ctx); return err }, 20},
		{"callbacks of cancelled jobs", func(ctx context.Context) error {
			id, err := store.NextCancelled(ctx, []string{"work", "none"}, 0)
			require.Zero(t, id)
			return err
		}, 10},
		{"stats", func(ctx context.Context) error { _, err := store.Stats(ctx); return err }, 40_000},
		{"retry", func(ctx context.Context) error { return store.Retry(ctx, -100) }, 20},
		{"retry of many", func(ctx context.Context) error {
			page, err := store.RetryMany(ctx, driver.Filter{State: driver.StateFailed, Before: 1 << 60, Limit: 10})
			require.Equal(t, 10, page.Changed)
			return err
		}, 100},
		{"cancel", func(ctx context.Context) error { return store.Cancel(ctx, 1) }, 20},
	}
	for state := driver.StateWaiting; state <= driver.StateHeld; state++ {
		step := sizeStep{name: "list of a kind without jobs, state " + fmt.Sprint(state), rows: 2 * driver.ListWindow}
		step.do = func(ctx context.Context) error {
			found, _, err := store.List(ctx, driver.Filter{State: state, Kind: "none", Before: 1 << 60, Limit: 50})
			require.Empty(t, found)
			return err
		}
		steps = append(steps, step)
	}
	return steps
}
