package sqlitequeue_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/sqlitedb"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/admin"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// The statements of the first version, which may still run while a newer one migrates.
const (
	firstInsert = `
insert into jobqueue_job (queue, kind, priority, run_at, created_at, max_attempts, unique_key, until_started, args)
values ('default', 'work', 2, 1, 1, 3, null, 0, 'null')`
	firstRegister = `
insert into jobqueue_worker (id, name, started_at, expires_at) values (5, 'first', 0, 4000000000000000)`
	firstClaim = `
update jobqueue_job set worker = 5, fence = fence + 1, attempt = attempt + 1, claimed_at = 1
where id in (select id from jobqueue_job where queue = 'default' and priority = 2 and worker is null
  and run_at <= 4000000000000000 order by run_at, id limit 10)`
	firstArchive = `
insert into jobqueue_done (id, state, finished_at, errors, run_at, created_at, claimed_at, fence, attempt,
  max_attempts, priority, until_started, queue, kind, unique_key, args)
select id, 4, 2, errors, run_at, created_at, claimed_at, fence, attempt,
  max_attempts, priority, until_started, queue, kind, unique_key, args from jobqueue_job where worker = 5`
	firstDelete        = `delete from jobqueue_job where worker = 5`
	firstRescueOrphans = `
update jobqueue_job set worker = null, fence = fence + 1
where worker is not null and worker not in (select id from jobqueue_worker)`
)

func TestWorkersOfTheFirstVersionContinue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := sqlitedb.Open(filepath.Join(t.TempDir(), "queue.db"))
	require.NoError(t, err)
	defer db.Close()
	first, err := os.ReadFile("migrations/00001_jobqueue.sql")
	require.NoError(t, err)
	require.NoError(t, migrate.Up(ctx, db.W, migrate.SQLite, "jobqueue_migrations",
		fstest.MapFS{"00001_jobqueue.sql": {Data: first}}))
	exec := func(query string) int {
		t.Helper()
		res, err := db.W.ExecContext(ctx, query)
		require.NoError(t, err)
		n, err := res.RowsAffected()
		require.NoError(t, err)
		return int(n)
	}
	exec(firstRegister)
	exec(firstInsert)
	require.Equal(t, 1, exec(firstClaim))

	store := sqlitequeue.New(db.W, db.R, sqlitequeue.Config{})
	require.ErrorIs(t, store.Check(ctx), driver.ErrSchema)
	require.NoError(t, store.Migrate(ctx))
	require.NoError(t, store.Check(ctx))
	require.Equal(t, 1, exec(firstArchive))
	require.Equal(t, 1, exec(firstDelete))
	stats, err := store.Stats(ctx)
	require.NoError(t, err)
	require.Len(t, stats.Workers, 1)

	var serial []int64
	for range 3 {
		r, err := jobqueue.NewClient(store).Enqueue(ctx, jobqueue.Params{Kind: "work", SerialKey: "k"})
		require.NoError(t, err)
		serial = append(serial, r.ID)
	}
	require.Zero(t, exec(firstRescueOrphans), "held jobs stay held")
	require.Equal(t, 1, exec(firstClaim), "the first of the key")
	require.Equal(t, 1, exec(firstArchive))
	require.Equal(t, 1, exec(firstDelete))
	require.Zero(t, exec(firstClaim), "the first version gives nobody a turn")
	_, err = store.Rescue(ctx, time.Minute, false)
	require.NoError(t, err)
	j, err := store.Get(ctx, serial[1])
	require.NoError(t, err)
	require.Equal(t, admin.StateWaiting, j.State, "a newer worker does")
	exec(firstInsert)
	newer, err := store.Register(ctx, "newer", nil, time.Minute)
	require.NoError(t, err)
	res, err := store.Exchange(ctx, driver.ExchangeRequest{Worker: newer,
		Claims: []driver.ClaimRequest{{Queue: "default", Limit: 10}}})
	require.NoError(t, err)
	require.Len(t, res.Jobs, 2)
}
