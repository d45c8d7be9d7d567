package pgqueue_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

func migrated(t *testing.T) (*pgxpool.Pool, *pgqueue.Store) {
	t.Helper()
	pool := pgtest.Pool(t)
	store := pgqueue.New(pool, pgqueue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	return pool, store
}

func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := pgqueue.New(pool, pgqueue.Config{Schema: "jobs"}).Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ok, err := pgqueue.New(pool, pgqueue.Config{Schema: "jobs"}).Migrated(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
}

// now() is the start of the transaction, so a job enqueued late in a long one would overtake those
// before it.
func TestLongTransactionDoesNotBackdateJobs(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	var id int64
	var began time.Time
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		require.NoError(t, tx.QueryRow(t.Context(), `select now() from pg_sleep(0.1)`).Scan(&began))
		rs, err := store.EnqueueTx(t.Context(), tx, jobqueue.Params{Kind: "work"})
		id = rs.ID
		return err
	}))
	j, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	require.GreaterOrEqual(t, j.RunAt.Sub(began), 100*time.Millisecond)
}

// plan returns the query plan of a claim as JSON.
func plan(t *testing.T, pool *pgxpool.Pool, worker int64, n int) string {
	t.Helper()
	times, ids := make([]time.Time, 4), make([]int64, 4)
	for i := range times {
		times[i] = time.Unix(0, 0)
	}
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	var text string
	err = tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+pgqueue.ClaimSQL,
		worker, []string{"default"}, []int32{int32(n)}, times, ids, kinds).Scan(&text)
	require.NoError(t, err)
	return text
}

// node is a plan node.
// kinds is the argument of a claim of few kinds among others that the planner has never seen.
var kinds = []string{"work", "a kind that no job has"}

type node struct {
	Type     string  `json:"Node Type"`
	Index    string  `json:"Index Name"`
	Relation string  `json:"Relation Name"`
	Cond     string  `json:"Index Cond"`
	Loops    float64 `json:"Actual Loops"`
	Rows     float64 `json:"Actual Rows"`
	Hit      int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Plans    []node
}

func nodes(t *testing.T, text string) (all []node) {
	t.Helper()
	var plans []struct{ Plan node }
	require.NoError(t, json.Unmarshal([]byte(text), &plans))
	var walk func(n node)
	walk = func(n node) {
		all = append(all, n)
		for _, c := range n.Plans {
			walk(c)
		}
	}
	walk(plans[0].Plan)
	return all
}

// A claim finds its jobs once, by the index, without a sort, and reads no others: neither jobs
// scheduled for tomorrow at a higher priority nor a long queue.
func TestClaimReadsOnlyItsJobs(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	_, err := pool.Exec(t.Context(), `
insert into jobqueue_job (queue, kind, priority, run_at, max_attempts, args)
select 'default', 'work', case when n % 2 = 0 then 1 else 3 end,
  now() + case when n % 2 = 0 then interval '1 day' else interval '-1 hour' end, 1, 'null'
from generate_series(1, 40000) n`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `analyze jobqueue_job`)
	require.NoError(t, err)
	worker, err := store.Register(t.Context(), "w", nil, time.Minute)
	require.NoError(t, err)
	text := plan(t, pool, worker, 10)
	all := nodes(t, text)
	scans := 0
	for _, n := range all {
		require.NotContains(t, []string{"Sort", "Seq Scan"}, n.Type, text)
		if n.Index == "jobqueue_job_ready" {
			scans++
			require.LessOrEqual(t, n.Loops, 4.0, "each priority once: %s", text)
			for _, column := range []string{"queue", "priority", "run_at"} {
				require.Contains(t, n.Cond, column)
			}
		}
	}
	require.Equal(t, 1, scans, text)
	require.Less(t, all[0].Hit+all[0].Read, 400, "buffers: %s", text)
}

// A burst of inserts sends few notifications, not one each.
func TestNotificationsAreCoalesced(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "listen jobqueue")
	require.NoError(t, err)
	client := jobqueue.NewClient(store)
	const n = 400
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range n / 8 {
				if _, err := client.Enqueue(t.Context(), jobqueue.Params{Kind: "work"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	_, err = client.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Queue: "last"})
	require.NoError(t, err)
	count := 0
	for {
		note, err := conn.WaitForNotification(t.Context())
		require.NoError(t, err)
		if strings.HasSuffix(note.Payload, " last") {
			break
		}
		require.Equal(t, "q 0 default", note.Payload)
		count++
	}
	require.Positive(t, count)
	require.Less(t, count, n/2)
}

// A transaction that stays open keeps dead entries in the index; claims behind the watermark do not
// step over them.
func TestWatermarkSkipsDeadEntries(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	pin, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer pin.Rollback(t.Context())
	_, err = pin.Exec(t.Context(), "select count(*) from jobqueue_job")
	require.NoError(t, err)
	load(t, store, 10_000, 0, 0)
	worker, err := store.Register(t.Context(), "w", nil, time.Minute)
	require.NoError(t, err)
	var after [4]driver.Cursor
	taken := 0
	for taken < 9_000 {
		res, err := store.Exchange(t.Context(),
			driver.ExchangeRequest{Worker: worker, Claims: []driver.ClaimRequest{{Queue: "default", Limit: 1000}}})
		require.NoError(t, err)
		x := driver.ExchangeRequest{Worker: worker}
		for _, j := range res.Jobs {
			if m := (driver.Cursor{RunAt: j.RunAt, ID: j.ID}); m.RunAt.After(after[1].RunAt) ||
				m.RunAt.Equal(after[1].RunAt) && m.ID > after[1].ID {
				after[1] = m
			}
			x.Results = append(x.Results, driver.Result{Lease: driver.Lease{ID: j.ID, Fence: j.Fence}})
		}
		taken += len(res.Jobs)
		_, err = store.Exchange(t.Context(), x)
		require.NoError(t, err)
	}
	_, err = pool.Exec(t.Context(), `analyze jobqueue_job`)
	require.NoError(t, err)
	buffers := func(mark driver.Cursor) int {
		times, ids := make([]time.Time, 4), make([]int64, 4)
		for i := range times {
			times[i] = time.Unix(0, 0)
		}
		if !mark.RunAt.IsZero() {
			times[1], ids[1] = mark.RunAt, mark.ID
		}
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(t.Context())
		var text string
		require.NoError(t, tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+pgqueue.ClaimSQL,
			worker, []string{"default"}, []int32{1}, times, ids, kinds).Scan(&text))
		n := nodes(t, text)[0]
		return n.Hit + n.Read
	}
	with, without := buffers(after[1]), buffers(driver.Cursor{})
	require.Less(t, with*5, without, "buffers with the watermark %d, without %d", with, without)
	t.Logf("buffers with the watermark %d, without %d", with, without)
}

// The jobs of a claiming worker cannot be rescued, and a worker whose jobs were rescued cannot
// claim.
func TestRescueAndClaimExcludeEachOther(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 1, 0, 0)
	worker, err := store.Register(t.Context(), "w", nil, time.Minute)
	require.NoError(t, err)
	times := make([]time.Time, 4)
	for i := range times {
		times[i] = time.Unix(0, 0)
	}
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), pgqueue.ClaimSQL, worker, []string{"default"}, []int32{1}, times, make([]int64, 4),
		kinds)
	require.NoError(t, err)
	_, _, err = store.Heartbeat(t.Context(), worker, time.Minute)
	require.NoError(t, err, "the heartbeat does not wait for claims")
	_, _, err = store.Heartbeat(t.Context(), worker, 0)
	require.NoError(t, err)
	n, err := store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Zero(t, n, "Rescue skips a worker that is claiming")
	require.NoError(t, tx.Commit(t.Context()))
	n, err = store.Rescue(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestStatsStopCounting(t *testing.T) {
	t.Parallel()
	_, store := migrated(t)
	load(t, store, 25_000, 0, 0)
	stats, err := store.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, jobqueue.StatsLimit+1, stats.Queues[0].Waiting)
}

// The name of the channel is longer than that of the schema, which may be as long as a name can be.
func TestLongSchemaNamesNotify(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	long := strings.Repeat("s", 62)
	for _, schema := range []string{long + "1", long + "2"} {
		store := pgqueue.New(pool, pgqueue.Config{Schema: schema})
		require.NoError(t, store.Migrate(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		up, received, done := make(chan struct{}), make(chan driver.Signal, 10), make(chan error, 1)
		go func() {
			done <- store.Listen(ctx, func() { close(up) }, func(s driver.Signal) bool { received <- s; return false })
		}()
		select {
		case <-up:
		case err := <-done:
			require.NoError(t, err)
		}
		require.Zero(t, <-received)
		require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			_, err := store.EnqueueTx(t.Context(), tx, jobqueue.Params{Kind: "work", Queue: schema})
			return err
		}))
		require.Equal(t, driver.Signal{Queue: schema}, <-received)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
}

// FuzzParse checks that any notification can be parsed, and that our own survive a round trip.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"q 0 default", "q 1500 a b c", "c 12", "", "q", "q x y", "c -1", "q -1 a", "q 1", "c 0",
		"q 9223372036854775807 a", "echo ABC", "s 1", "k 1 a b", "g 1 a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sig, ok := pgqueue.Parse(text)
		if !ok {
			require.Zero(t, sig)
			return
		}
		again, ok := pgqueue.Parse(pgqueue.Payload(sig))
		require.True(t, ok, "%q", text)
		require.Equal(t, sig, again)
		set := fmt.Sprint(sig.Cancel > 0, sig.Queue != "", sig.Schedules, sig.SerialKey != "",
			sig.AfterGroup != "")
		require.Equal(t, 1, strings.Count(set, "true"), "%v", sig)
	})
}

// The error of a result that will never be accepted is permanent, so that it does not block the
// others.
func TestRefusedResultIsPermanent(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 1, 0, 0)
	worker, err := store.Register(t.Context(), "w", nil, time.Minute)
	require.NoError(t, err)
	res, err := store.Exchange(t.Context(),
		driver.ExchangeRequest{Worker: worker, Claims: []driver.ClaimRequest{{Queue: "default", Limit: 1}}})
	require.NoError(t, err)
	j := res.Jobs[0]
	_, err = pool.Exec(t.Context(), `
insert into jobqueue_done (id, state, run_at, created_at, fence, attempt, max_attempts, priority, until_started,
  queue, kind, args)
select id, 4, run_at, created_at, fence, attempt, max_attempts, priority, until_started,
  queue, kind, args
from jobqueue_job`)
	require.NoError(t, err)
	_, err = store.Exchange(t.Context(),
		driver.ExchangeRequest{Worker: worker,
			Results: []driver.Result{{Lease: driver.Lease{ID: j.ID, Fence: j.Fence}}}})
	var p interface{ Permanent() bool }
	require.ErrorAs(t, err, &p)
	require.True(t, p.Permanent())
}

// A purge does not read all of a long history.
func TestPurgeReadsOnlyWhatIsOld(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	_, err := pool.Exec(t.Context(), `
insert into jobqueue_done (id, state, finished_at, run_at, created_at, fence, attempt, max_attempts, priority,
  until_started, queue, kind, args)
select n, case when n % 1000 = 0 then 5 else 4 end, now() - (100000 - n) * interval '1 second', now(), now(),
  1, 1, 1, 2, false, 'default', 'work', 'null'
from generate_series(1, 100000) n`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `vacuum analyze jobqueue_done`)
	require.NoError(t, err)
	for _, state := range []jobqueue.State{jobqueue.StateSucceeded, jobqueue.StateFailed} {
		query, args := pgqueue.PurgeSQL(driver.PurgeFilter{State: state, Queue: "default", Age: 48 * time.Hour})
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "set local enable_seqscan = off")
		require.NoError(t, err)
		var text string
		require.NoError(t, tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+query,
			args...).Scan(&text))
		require.NoError(t, tx.Rollback(t.Context()))
		n := nodes(t, text)[0]
		require.Less(t, n.Hit+n.Read, 300, "%v: %s", state, text)
	}
	total, n := 0, 1
	for ; n > 0; total += n {
		f := driver.PurgeFilter{State: jobqueue.StateSucceeded, Queue: "default", Age: 50_000 * time.Second}
		n, err = store.Purge(t.Context(), f)
		require.NoError(t, err)
	}
	require.InDelta(t, 50_000-50, total, 100)
}

// Two queues in schemas selected by the search path share a channel, and their ids are the same.
func TestCancelStaysInItsSchema(t *testing.T) {
	t.Parallel()
	base := pgtest.Pool(t)
	type tenant struct {
		client        *jobqueue.Client // of another process
		job           int64
		received, end chan struct{}
		ended         chan error
	}
	var tenants []tenant
	for _, schema := range []string{"one", "two"} {
		pool := searching(t, base, schema)
		store := pgqueue.New(pool, pgqueue.Config{})
		require.NoError(t, store.Migrate(t.Context()))
		n := tenant{jobqueue.NewClient(pgqueue.New(pool, pgqueue.Config{})), 0, make(chan struct{}),
			make(chan struct{}), make(chan error, 1)}
		started := make(chan struct{})
		w := jobqueue.NewWorker(store, jobqueue.WorkerConfig{PollInterval: time.Hour})
		jobqueue.Handle(w, "work", func(ctx context.Context, _ *jobqueue.Job, first bool) error {
			if !first {
				close(n.received)
				return nil
			}
			close(started)
			select {
			case <-ctx.Done():
			case <-n.end:
			}
			n.ended <- context.Cause(ctx)
			return nil
		})
		r, err := n.client.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Args: true})
		require.NoError(t, err)
		n.job = r.ID
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		defer func() { cancel(); require.NoError(t, <-done) }()
		<-started
		tenants = append(tenants, n)
	}
	one, two := tenants[0], tenants[1]
	require.Equal(t, one.job, two.job)
	require.Eventually(t, func() bool {
		var n int
		err := base.QueryRow(t.Context(), `
select count(*) from pg_stat_activity where datname = current_database() and query like 'listen %'`).Scan(&n)
		return err == nil && n == 2
	}, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, one.client.Cancel(t.Context(), one.job))
	require.ErrorIs(t, <-one.ended, jobqueue.ErrCancelled)
	// Notifications arrive in order: when the worker has received this job, it has received the
	// cancellation.
	_, err := two.client.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Args: false})
	require.NoError(t, err)
	<-two.received
	close(two.end)
	require.NoError(t, <-two.ended)
}

// A pool may fetch its password when it connects, or set schema and role afterwards. Connections
// outside the pool do the same.
func TestConnectionsOutsideThePoolUseItsHooks(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"", "jobs"} {
		t.Run("schema "+schema, func(t *testing.T) {
			t.Parallel()
			base := pgtest.Pool(t)
			_, err := base.Exec(t.Context(), "create schema tenant")
			require.NoError(t, err)
			pc := base.Config()
			user := pc.ConnConfig.User
			pc.ConnConfig.User = "nobody"
			pc.BeforeConnect = func(_ context.Context, cc *pgx.ConnConfig) error {
				cc.User = user
				return nil
			}
			pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, "set search_path to tenant")
				return err
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), pc)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			store := pgqueue.New(pool, pgqueue.Config{Schema: schema})
			require.NoError(t, store.Migrate(t.Context()))
			require.NoError(t, store.Check(t.Context()))
			var got string
			require.NoError(t,
				base.QueryRow(t.Context(),
					"select schemaname from pg_tables where tablename = 'jobqueue_job'").Scan(&got))
			require.Equal(t, cmp.Or(schema, "tenant"), got)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = store.Listen(ctx, cancel, func(driver.Signal) bool { return false })
			require.ErrorIs(t, err, context.Canceled, "it listened until its context ended")
		})
	}
}

// searching returns a pool whose search path is a new schema.
func searching(t *testing.T, base *pgxpool.Pool, schema string) *pgxpool.Pool {
	t.Helper()
	_, err := base.Exec(t.Context(), "create schema "+schema)
	require.NoError(t, err)
	pc := base.Config()
	pc.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(t.Context(), pc)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
