package pgqueue_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

// countingConn counts the messages that a client sends.
type countingConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(p)
}

// A client far from the database does not wait for the result of the insertion before it notifies,
// in any mode of executing queries.
func TestInsertionAndNotificationAreOneMessage(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			direct, store := migrated(t)
			conn := listening(t, direct)
			var sent atomic.Int64
			config := direct.Config()
			config.MaxConns = 1
			config.ConnConfig.DefaultQueryExecMode = mode
			dial := config.ConnConfig.DialFunc
			config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := dial(ctx, network, address)
				return countingConn{c, &sent}, err
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			defer pool.Close()
			client := jobqueue.NewClient(pgqueue.New(pool, pgqueue.Config{}))

			// It takes more messages until statements are prepared, or shortly after another one.
			require.Eventually(t, func() bool {
				before := sent.Load()
				result, err := client.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Args: "é'"})
				require.NoError(t, err)
				require.Positive(t, result.ID)
				note, err := conn.WaitForNotification(t.Context())
				require.NoError(t, err)
				require.Equal(t, `{"Queue":"default"}`, note.Payload)
				job, err := store.Get(t.Context(), result.ID)
				require.NoError(t, err, "it is committed when the notification arrives")
				require.Equal(t, `"é'"`, string(job.Args))
				return sent.Load()-before == 1
			}, time.Minute, 20*time.Millisecond)
		})
	}
}

// What is not to be inserted is refused and leaves nothing behind; a job whose notification the
// server refuses is inserted, because workers poll as well.
func TestErrorsOfTheInsertionAndOfItsNotificationAreToldApart(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	record := driver.Record{Queue: "default", Kind: "work", Priority: 2, MaxAttempts: 3, Args: []byte(`{}`)}
	insert := func(r driver.Record) (driver.InsertResult, error) {
		time.Sleep(10 * time.Millisecond) // after a pause the insertion notifies
		results, err := store.Insert(t.Context(), []driver.Record{r})
		if err != nil {
			return driver.InsertResult{}, err
		}
		return results[0], nil
	}
	bad := record
	bad.Args = []byte(`{`)
	_, err := insert(bad)
	require.ErrorContains(t, err, "json")

	long := record
	long.Queue = strings.Repeat("q", 9000) // a notification has at most 8000 bytes
	stored, err := insert(long)
	require.NoError(t, err)

	unique := record
	unique.UniqueKey = "key"
	first, err := insert(unique)
	require.NoError(t, err)
	second, err := insert(unique)
	require.NoError(t, err)
	require.Equal(t, driver.InsertResult{ID: first.ID, Duplicate: true}, second)

	var ids []int64
	require.NoError(t, pool.QueryRow(t.Context(), `select array_agg(id order by id) from jobqueue_job`).Scan(&ids))
	require.Equal(t, []int64{stored.ID, first.ID}, ids)
}
