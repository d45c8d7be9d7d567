package pgqueue_test

import (
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/admin"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

// The statements of the first version, which may still run while a newer one migrates.
const (
	firstInsert = `
insert into jobqueue_job (queue, kind, priority, run_at, max_attempts, unique_key, until_started, args)
values ('default', 'work', 2, clock_timestamp(), 3, null, false, 'null') returning id`
	firstRegister = `
insert into jobqueue_worker (name, expires_at) values ('first', now() + interval '1 hour') returning id`
	firstClaim = `
update jobqueue_job set worker = $1, fence = fence + 1, attempt = attempt + 1, claimed_at = now(),
  unique_key = case when until_started then null else unique_key end
where exists (select from jobqueue_worker where id = $1 and expires_at > now() for key share)
  and ctid = any (array(select ctid from jobqueue_job
    where queue = 'default' and priority = 2 and worker is null and run_at <= now()
    order by run_at, id limit $2 for update skip locked))
returning id`
	firstSucceed = `
with gone as (delete from jobqueue_job where id = $1 and worker = $2 returning *)
insert into jobqueue_done (id, state, errors, run_at, created_at, claimed_at, fence, attempt, max_attempts, priority,
  until_started, queue, kind, unique_key, args)
select id, 4, errors, run_at, created_at, claimed_at, fence, attempt, max_attempts, priority,
  until_started, queue, kind, unique_key, args from gone`
	firstRescueOrphans = `
update jobqueue_job j set worker = null, fence = fence + 1, errors = '[]'
where worker is not null and not exists (select from jobqueue_worker w where w.id = j.worker)`
	firstRescue = `select id from jobqueue_worker where expires_at < now() for update skip locked`
)

func TestWorkersOfTheFirstVersionContinue(t *testing.T) {
	t.Parallel()
	ctx, pool := t.Context(), pgtest.Pool(t)
	first, err := os.ReadFile("migrations/00001_jobqueue.sql")
	require.NoError(t, err)
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	require.NoError(t, migrate.Up(ctx, db, migrate.Postgres, "jobqueue_migrations",
		fstest.MapFS{"00001_jobqueue.sql": {Data: first}}))
	one := func(query string, args ...any) (id int64) {
		t.Helper()
		require.NoError(t, pool.QueryRow(ctx, query, args...).Scan(&id))
		return id
	}
	exec := func(query string, args ...any) int64 {
		t.Helper()
		tag, err := pool.Exec(ctx, query, args...)
		require.NoError(t, err)
		return tag.RowsAffected()
	}
	worker := one(firstRegister)
	running := one(firstInsert)
	require.Equal(t, running, one(firstClaim, worker, 1))
	waiting := one(firstInsert)

	store := pgqueue.New(pool, pgqueue.Config{})
	require.ErrorIs(t, store.Check(ctx), driver.ErrSchema)
	require.NoError(t, store.Migrate(ctx))
	require.NoError(t, store.Check(ctx))
	require.Equal(t, int64(1), exec(firstSucceed, running, worker))
	j, err := store.Get(ctx, running)
	require.NoError(t, err)
	require.Equal(t, admin.StateSucceeded, j.State)

	client := jobqueue.NewClient(store)
	var serial []int64
	for range 3 {
		r, err := client.Enqueue(ctx, jobqueue.Params{Kind: "work", SerialKey: "k"})
		require.NoError(t, err)
		serial = append(serial, r.ID)
	}
	require.Zero(t, exec(firstRescueOrphans), "held jobs stay held")
	require.Zero(t, exec(firstRescue))
	claimed := exec(firstClaim, worker, 10)
	require.Equal(t, int64(2), claimed, "the old job and the first of the key")
	require.Equal(t, int64(1), exec(firstSucceed, waiting, worker))
	require.Equal(t, int64(1), exec(firstSucceed, serial[0], worker))
	require.Zero(t, exec(firstClaim, worker, 10), "the first version gives nobody a turn")
	_, err = store.Rescue(ctx, time.Minute, false)
	require.NoError(t, err)
	j, err = store.Get(ctx, serial[1])
	require.NoError(t, err)
	require.Equal(t, admin.StateWaiting, j.State, "a newer worker does")
	id := one(firstInsert)
	newer, err := store.Register(ctx, "newer", nil, time.Minute)
	require.NoError(t, err)
	res, err := store.Exchange(ctx, driver.ExchangeRequest{Worker: newer,
		Claims: []driver.ClaimRequest{{Queue: "default", Limit: 10}}})
	require.NoError(t, err)
	require.Len(t, res.Jobs, 2)
	require.Contains(t, []int64{res.Jobs[0].ID, res.Jobs[1].ID}, id)
}
