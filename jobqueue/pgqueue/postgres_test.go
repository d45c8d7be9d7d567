package pgqueue_test

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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

func register(t *testing.T, store *pgqueue.Store) (worker int64) {
	t.Helper()
	worker, err := store.Register(t.Context(), "w", nil, time.Hour)
	require.NoError(t, err)
	return worker
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
		rs, err := store.EnqueuePgx(t.Context(), tx, jobqueue.Params{Kind: "work"})
		id = rs.ID
		return err
	}))
	j, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	require.GreaterOrEqual(t, j.RunAt.Sub(began), 100*time.Millisecond)
}

// The jobs of a claiming worker cannot be rescued, and a worker whose jobs were rescued cannot
// claim. A job that a transaction of its handler has locked, which stays open when the machine
// loses its power, is rescued later and keeps no other waiting.
func TestRescueAndClaimExcludeEachOther(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 2, 0, 0)
	worker := register(t, store)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	execSQL(t, tx, pgqueue.ClaimSQL, claimArgs(worker, 2)...)
	altering, err := tx.Begin(t.Context()) // a savepoint
	require.NoError(t, err)
	execSQL(t, altering, "lock table jobqueue_job")
	config := pool.Config()
	config.ConnConfig.RuntimeParams["lock_timeout"] = "10ms"
	impatient, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer impatient.Close()
	_, alive, err := pgqueue.New(impatient, pgqueue.Config{}).Heartbeat(t.Context(), worker, time.Minute)
	require.True(t, alive, "the lease waits neither for claims nor for somebody who alters the table")
	require.ErrorContains(t, err, "lock timeout")
	require.NoError(t, altering.Rollback(t.Context()))
	held, err := store.Slots(t.Context(), worker, "default", 1, 1)
	require.NoError(t, err)
	require.Equal(t, 1, held)
	_, _, err = store.Heartbeat(t.Context(), worker, 0)
	require.NoError(t, err)
	n, err := store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Zero(t, n, "Rescue skips a worker that is claiming")
	require.NoError(t, tx.Commit(t.Context()))
	handlers, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer handlers.Rollback(t.Context())
	execSQL(t, handlers, "select from jobqueue_job limit 1 for update")
	var places [3]string
	for i := range places {
		n, err = store.Rescue(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, []int{1, 0, 1}[i], n)
		_, alive, err = store.Heartbeat(t.Context(), worker, time.Minute)
		require.NoError(t, err)
		require.False(t, alive)
		stats, err := store.Stats(t.Context())
		require.NoError(t, err)
		require.Len(t, stats.Workers, []int{1, 1, 0}[i], "while a job runs, its worker is there")
		require.Equal(t, []int{1, 1, 0}[i], number(t, pool, "select count(worker) from jobqueue_slot"))
		err = pool.QueryRow(t.Context(), "select coalesce(max(ctid::text), '') from jobqueue_worker").Scan(&places[i])
		require.NoError(t, err)
		if i == 1 {
			require.NoError(t, handlers.Rollback(t.Context()))
		}
	}
	require.Equal(t, places[0], places[1], "no process writes it again and again")
}

// Very many jobs are rescued in transactions of 10,000, so that some are even if not all can be.
func TestManyJobsAreRescuedInParts(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	worker, err := store.Register(t.Context(), "w", nil, 0)
	require.NoError(t, err)
	execSQL(t, pool, `
insert into jobqueue_job (queue, kind, priority, max_attempts, args, worker)
select 'default', 'work', 2, 10, 'null', case when n % 2 = 0 then $1 else -1 end from generate_series(1, 21000) n`,
		worker)
	n, err := store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, 21_000, n)
	require.Equal(t, 2, number(t, pool, "select count(distinct xmin::text) from jobqueue_job"))
	require.Zero(t, number(t, pool, "select count(*) from jobqueue_worker"))
}

// A member of a group is deleted, too, when the transaction of its handler changes or ends it at
// the same time.
func TestDeleteGroupFindsWhatOthersChange(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	worker, client := register(t, store), jobqueue.NewClient(store)
	for name, change := range map[string]func(tx pgx.Tx, job *jobqueue.Job) error{
		"save":     func(tx pgx.Tx, job *jobqueue.Job) error { return store.SavePgx(t.Context(), tx, job, 1) },
		"complete": func(tx pgx.Tx, job *jobqueue.Job) error { return store.CompletePgx(t.Context(), tx, job) },
	} {
		enqueued, err := client.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Group: "g"})
		require.NoError(t, err)
		require.Len(t, claimIDs(t, store, claimRequest(worker, 1)), 1)
		job, err := client.Get(t.Context(), enqueued.ID)
		require.NoError(t, err)
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, change(tx, job))
		during(t, pool, tx, func() error { return client.DeleteGroup(t.Context(), "g") })
		_, err = client.Get(t.Context(), enqueued.ID)
		require.ErrorIs(t, err, jobqueue.ErrNotFound, name)
	}
}

// The error of a result that will never be accepted is permanent, so that it does not block the
// others.
func TestRefusedResultIsPermanent(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 1, 0, 0)
	worker := register(t, store)
	id := claimIDs(t, store, claimRequest(worker, 1))[0]
	execSQL(t, pool, `alter table jobqueue_done add check (id < 0)`)
	_, err := store.Exchange(t.Context(), ended(worker, id))
	var p interface{ Permanent() bool }
	require.ErrorAs(t, err, &p)
	require.True(t, p.Permanent())
}

// A table that an operator renames for a moment, or rights that he revokes, are no fault of the
// results: they wait until that is undone, and no job runs again.
func TestResultsWaitWhileTheirTableIsGone(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	const jobs = 3
	load(t, store, jobs, 0, 0)
	begun, end := make(chan int64, 10*jobs), make(chan struct{})
	counted := &failingStore{Store: store}
	w := jobqueue.NewWorker(counted, jobqueue.WorkerConfig{Logger: slog.New(slog.DiscardHandler)})
	jobqueue.Handle(w, "work", func(_ context.Context, job *jobqueue.Job, _ any) error {
		begun <- job.ID
		<-end
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- w.Run(ctx) }()
	for range jobs {
		within(t, begun)
	}
	execSQL(t, pool, "alter table jobqueue_done rename to moved")
	close(end)
	eventually(t, "the results are tried again", func() bool { return counted.failures.Load() >= 12 })
	execSQL(t, pool, "alter table moved rename to jobqueue_done")
	eventually(t, "all results are recorded", func() bool {
		return number(t, pool, "select count(*) from jobqueue_done where state = 4 and attempt = 1") == jobs
	})
	stop()
	require.NoError(t, within(t, stopped))
	require.Empty(t, begun, "no job ran again")
}

// failingStore counts the exchanges that have failed.
type failingStore struct {
	*pgqueue.Store
	failures atomic.Int64
}

func (s *failingStore) Exchange(
	ctx context.Context, x driver.ExchangeRequest,
) (driver.ExchangeResponse, error) {
	res, err := s.Store.Exchange(ctx, x)
	if err != nil {
		s.failures.Add(1)
	}
	return res, err
}

// A pool may fetch its password when it connects, or set schema and role afterwards. Connections
// outside the pool do the same.
func TestConnectionsOutsideThePoolUseItsHooks(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"", "jobs"} {
		t.Run("schema "+schema, func(t *testing.T) {
			t.Parallel()
			base := pgtest.Pool(t)
			// It may create no schema. Roles belong to the server: it is named after the database.
			role := base.Config().ConnConfig.Database
			for _, s := range []string{
				"role " + role + " login", "schema tenant authorization " + role, "schema jobs authorization " + role,
			} {
				execSQL(t, base, "create "+s)
			}
			pc := base.Config()
			pc.ConnConfig.User = "nobody"
			pc.BeforeConnect = func(_ context.Context, cc *pgx.ConnConfig) error {
				cc.User = role
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
			migrated, err := store.Migrated(t.Context())
			require.NoError(t, err)
			require.True(t, migrated)
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
