package pgqueue_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

// frozen makes the connections of a pool behave like those of a process that was suspended.
type frozen struct {
	reading, sending atomic.Bool
	release          chan struct{}
}

type frozenConn struct {
	net.Conn
	f *frozen
}

func (c frozenConn) Read(b []byte) (int, error) {
	if c.f.reading.Load() {
		<-c.f.release
	}
	return c.Conn.Read(b)
}

// Write sends all but the end of a large message.
func (c frozenConn) Write(b []byte) (int, error) {
	const end = 5 // the message Sync
	if !c.f.sending.Load() || len(b) < 64<<10 {
		return c.Conn.Write(b)
	}
	n, err := c.Conn.Write(b[:len(b)-end])
	if err != nil {
		return n, err
	}
	<-c.f.release
	m, err := c.Conn.Write(b[len(b)-end:])
	return n + m, err
}

// freezing returns a store whose connections freeze when the fields of f are set.
func freezing(
	t *testing.T, pool *pgxpool.Pool, mode pgx.QueryExecMode, cfg pgqueue.Config,
) (*pgqueue.Store, *frozen) {
	t.Helper()
	f := &frozen{release: make(chan struct{})}
	pc := pool.Config()
	pc.ConnConfig.DefaultQueryExecMode = mode
	dial := pc.ConnConfig.DialFunc
	pc.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return frozenConn{conn, f}, err
	}
	p, err := pgxpool.NewWithConfig(t.Context(), pc)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return pgqueue.New(p, cfg), f
}

// insertLarge adds n jobs whose arguments together are larger than the buffers of a connection.
func insertLarge(t *testing.T, pool *pgxpool.Pool, table string, n int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `
insert into `+table+` (queue, kind, priority, max_attempts, args)
select 'default', 'work', 2, 10, ('0' || repeat(' ', 100000))::json from generate_series(1, $1)`, n)
	require.NoError(t, err)
}

// stuckIn returns the process id of the connection that waits for its client in a statement that
// contains text, or 0.
func stuckIn(t *testing.T, pool *pgxpool.Pool, text string) int {
	t.Helper()
	return number(t, pool, `
select coalesce(max(pid), 0) from pg_stat_activity
where datname = current_database() and state = 'active' and wait_event_type = 'Client'
  and pid <> pg_backend_pid() and query like '%' || $1 || '%'`, text)
}

func claimRequest(worker int64, n int) driver.ExchangeRequest {
	return driver.ExchangeRequest{Worker: worker, Claims: []driver.ClaimRequest{{Queue: "default", Limit: n}}}
}

// A process is suspended while it receives the jobs that it claims, or while it sends results. Its
// connection lives on, and so does the transaction with its locks.
func TestRescueEndsStuckExchanges(t *testing.T) {
	t.Parallel()
	const lease = 300 * time.Millisecond
	claim := func(held []*driver.Job, f *frozen) driver.ExchangeRequest {
		f.reading.Store(true)
		return claimRequest(held[0].Worker, 100)
	}
	for name, c := range map[string]struct {
		exchange  func(held []*driver.Job, f *frozen) driver.ExchangeRequest
		mode      pgx.QueryExecMode
		statement string
		schema    string
	}{
		"claim":                     {claim, pgx.QueryExecModeCacheStatement, "jobqueue_job set worker", ""},
		"claim, not prepared":       {claim, pgx.QueryExecModeExec, "jobqueue_job set worker", ""},
		"claim, by simple protocol": {claim, pgx.QueryExecModeSimpleProtocol, "select set_config", ""},
		"claim, quoted schema":      {claim, pgx.QueryExecModeCacheStatement, "jobqueue_job set worker", `O'Brien"s`},
		"results":                   {largeResults, pgx.QueryExecModeCacheStatement, "insert into jobqueue_done", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.Pool(t)
			cfg := pgqueue.Config{Schema: c.schema}
			store := pgqueue.New(pool, cfg)
			require.NoError(t, store.Migrate(t.Context()))
			suspended, f := freezing(t, pool, c.mode, cfg)
			table := "jobqueue_job"
			if c.schema != "" {
				table = pgx.Identifier{c.schema, table}.Sanitize()
			}
			insertLarge(t, pool, table, 105)
			worker, err := suspended.Register(t.Context(), "w", nil, time.Minute)
			require.NoError(t, err)
			res, err := suspended.Exchange(t.Context(), claimRequest(worker, 5))
			require.NoError(t, err)
			require.Len(t, res.Jobs, 5)

			var group sync.WaitGroup
			group.Go(func() {
				_, err := suspended.Exchange(context.WithoutCancel(t.Context()), c.exchange(res.Jobs, f))
				if err == nil {
					t.Error("the exchange was committed")
				}
			})
			defer group.Wait()
			defer close(f.release)
			eventually(t, "it is stuck", func() bool { return stuckIn(t, pool, c.statement) != 0 })
			die(t, store, worker)
			time.Sleep(lease) // the age of the transaction, by the clock of the server

			n, err := store.Rescue(t.Context(), lease, false)
			require.NoError(t, err)
			require.Equal(t, 5, n)
			require.Zero(t, stuckIn(t, pool, c.statement))
			other, err := store.Register(t.Context(), "other", nil, time.Minute)
			require.NoError(t, err)
			res, err = store.Exchange(t.Context(), claimRequest(other, 200))
			require.NoError(t, err)
			require.Len(t, res.Jobs, 105)
		})
	}
}

// The lease of a process may end just after it was suspended while it sends results, which lock
// jobs, but not its worker. A rescue does not wait for them, so that a later one ends the exchange.
func TestRescueDoesNotWaitForStuckResults(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	suspended, f := freezing(t, pool, pgx.QueryExecModeCacheStatement, pgqueue.Config{})
	insertLarge(t, pool, "jobqueue_job", 5)
	worker, err := suspended.Register(t.Context(), "w", nil, time.Minute)
	require.NoError(t, err)
	res, err := suspended.Exchange(t.Context(), claimRequest(worker, 5))
	require.NoError(t, err)
	require.Len(t, res.Jobs, 5)

	var group sync.WaitGroup
	group.Go(func() {
		_, err := suspended.Exchange(context.WithoutCancel(t.Context()), largeResults(res.Jobs, f))
		if err == nil {
			t.Error("the exchange was committed")
		}
	})
	defer group.Wait()
	defer close(f.release)
	eventually(t, "it is stuck", func() bool { return stuckIn(t, pool, "insert into jobqueue_done") != 0 })
	die(t, store, worker)

	ended := make(chan error, 1)
	go func() {
		_, err := store.Rescue(t.Context(), time.Hour, false)
		ended <- err
	}()
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "lock timeout")
	case <-time.After(waitLimit):
		t.Fatal("the rescue waits for the exchange")
	}
	n, err := store.Rescue(t.Context(), time.Millisecond, false)
	require.NoError(t, err)
	require.Equal(t, 5, n)
}

// largeResults returns an exchange during whose sending f suspends the process.
func largeResults(held []*driver.Job, f *frozen) driver.ExchangeRequest {
	f.sending.Store(true)
	x := driver.ExchangeRequest{Worker: held[0].Worker}
	for _, j := range held {
		x.Results = append(x.Results, driver.Result{
			Lease: driver.Lease{ID: j.ID, Fence: j.Fence},
			Saved: []byte(`"` + strings.Repeat("x", 60_000) + `"`),
		})
	}
	return x
}

func die(t *testing.T, store *pgqueue.Store, worker int64) {
	t.Helper()
	_, alive, err := store.Heartbeat(t.Context(), worker, 0)
	require.NoError(t, err)
	require.True(t, alive)
}

// Rescue must not end connections that do anything else: a claim for less than a lease, a claim in
// other tables, or a statement of a user, even if that has locked jobs and waits for its client.
func TestRescueEndsOnlyStuckExchanges(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	slow, f := freezing(t, pool, pgx.QueryExecModeCacheStatement, pgqueue.Config{})
	insertLarge(t, pool, "jobqueue_job", 100)
	other := pgqueue.New(pool, pgqueue.Config{Schema: "other"})
	require.NoError(t, other.Migrate(t.Context()))
	dead, err := store.Register(t.Context(), "dead", nil, time.Minute)
	require.NoError(t, err)
	deadToo, err := other.Register(t.Context(), "dead", nil, time.Minute)
	require.NoError(t, err)
	worker, err := store.Register(t.Context(), "w", nil, time.Minute)
	require.NoError(t, err)

	res, err := slow.Exchange(t.Context(), claimRequest(worker, 1)) // prepares the statements
	require.NoError(t, err)
	require.Len(t, res.Jobs, 1)

	// Two clients that do not read: a claim, and a transaction with a large answer.
	var group sync.WaitGroup
	released := make(chan struct{})
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	defer group.Wait()
	group.Go(func() {
		_, err := conn.Exec(t.Context(), "begin")
		if err == nil {
			_, err = conn.Exec(t.Context(), "lock table jobqueue_job in row exclusive mode")
		}
		if err != nil {
			t.Error(err)
		}
		rows := conn.PgConn().ExecParams(t.Context(), `select repeat('x', 1000000) from generate_series(1, 20)`,
			nil, nil, nil, nil)
		<-released
		if res := rows.Read(); res.Err != nil || len(res.Rows) != 20 {
			t.Errorf("the user's statement: %v, %d rows", res.Err, len(res.Rows))
		}
	})
	group.Go(func() {
		f.reading.Store(true)
		res, err := slow.Exchange(t.Context(), claimRequest(worker, 100))
		if err != nil || len(res.Jobs) != 99 {
			t.Errorf("the claim: %v, %d jobs", err, len(res.Jobs))
		}
	})
	defer close(f.release)
	defer close(released)
	eventually(t, "both are stuck", func() bool {
		return stuckIn(t, pool, "update jobqueue_job set worker") != 0 && stuckIn(t, pool, "repeat") != 0
	})
	die(t, store, dead)
	die(t, other, deadToo)
	_, err = other.Rescue(t.Context(), 0, true)
	require.NoError(t, err)
	_, err = store.Rescue(t.Context(), time.Hour, true)
	require.NoError(t, err)
	require.Equal(t, 1, number(t, pool, "select count(*) from jobqueue_worker where id <> 0"), "the live one")
	require.Zero(t, number(t, pool, "select count(*) from other.jobqueue_worker where id <> 0"))
	_, err = store.Rescue(t.Context(), 0, true)
	require.NoError(t, err, "no lease has ended since")
}

// A worker process is suspended in the middle of a claim.
func TestProcessStoppedInAClaim(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	pool := connect(t, url)
	store := pgqueue.New(pool, pgqueue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	inserted := 0
	zombie := startChild(t, url)
	claiming := func() bool { return stuckIn(t, pool, "update jobqueue_job set worker") != 0 }
	for deadline := time.Now().Add(waitLimit); ; {
		if number(t, pool, `select count(*) from jobqueue_job where worker is null`) < 500 {
			insertLarge(t, pool, "jobqueue_job", 1000)
			inserted += 1000
		}
		if claiming() {
			zombie.signal(suspend)
			time.Sleep(50 * time.Millisecond) // what it still read
			if claiming() {
				break
			}
			zombie.signal(resume)
		}
		require.True(t, time.Now().Before(deadline), "it never stopped in a claim; %d jobs", inserted)
	}
	startChild(t, url)
	began := time.Now()
	eventually(t, "recovery", func() bool {
		return number(t, pool, `select count(*) from jobqueue_worker where expires_at < now()`) == 0 &&
			number(t, pool, `select count(*) from jobqueue_worker where id <> 0`) == 1
	})
	require.Less(t, time.Since(began), promised(t))
	eventually(t, "all done", func() bool {
		return number(t, pool, `select count(*) from jobqueue_job`) == 0
	})
	require.Equal(t, inserted, number(t, pool, `select count(*) from jobqueue_done where state = 4`))
	zombie.signal(resume)
	zombie.finish()
	t.Logf("%d jobs", inserted)
}
