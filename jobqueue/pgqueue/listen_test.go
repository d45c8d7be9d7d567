package pgqueue_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
)

// within receives from c, for at most a minute.
func within[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing received")
	}
	return v
}

// listening returns a connection that receives notifications.
func listening(t *testing.T, pool *pgxpool.Pool) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	execSQL(t, conn, "listen jobqueue")
	return conn
}

// A burst of inserts sends few notifications, not one each.
func TestNotificationsAreCoalesced(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	conn := listening(t, pool)
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
	_, err := client.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Queue: "last"})
	require.NoError(t, err)
	count := 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		note, err := conn.WaitForNotification(ctx)
		require.NoError(t, err)
		if note.Payload == `{"Queue":"last"}` {
			break
		}
		require.Equal(t, `{"Queue":"default"}`, note.Payload)
		count++
	}
	require.Positive(t, count)
	require.Less(t, count, n/2)
}

// FuzzParse checks that any notification can be parsed, and that our own survive a round trip.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"Queue":"default"}`, `{"Queue":"a b c","In":1500}`, `{"Cancel":12}`, "", "echo ABC",
		`{"Schedules":true}`, `{"LimitKey":"a b"}`, `{"AfterGroup":"é"}`, "{}", "null", `{"In":-1e300}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sig, ok := pgqueue.Parse(text)
		if !ok {
			return
		}
		require.NotZero(t, sig)
		again, ok := pgqueue.Parse(pgqueue.Payload(sig))
		require.True(t, ok, "%q", text)
		require.Equal(t, sig, again)
	})
}

// A job that waits for an ended group is enqueued while the worker does not listen yet.
func TestNotificationsBeforeListeningAreMadeUpFor(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	connect := make(chan struct{})
	late := pool.Config().ConnConfig
	dial := late.DialFunc
	late.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case <-connect:
			return dial(ctx, network, address)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	late.ConnectTimeout = 0
	store := pgqueue.New(pool, pgqueue.Config{ListenConn: late})
	require.NoError(t, store.Migrate(t.Context()))
	ended := make(chan string, 2)
	// Otherwise it would take a third of the lease.
	w := jobqueue.NewWorker(store, jobqueue.WorkerConfig{Lease: time.Hour})
	jobqueue.Handle(w, "work", func(_ context.Context, _ *jobqueue.Job, name string) error {
		ended <- name
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { _ = w.Run(ctx) })
	_, err := jobqueue.NewClient(store).Enqueue(t.Context(), jobqueue.Params{Kind: "work", Args: "first"})
	require.NoError(t, err)
	require.Equal(t, "first", within(t, ended), "the worker has started")

	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := store.EnqueuePgx(t.Context(), tx, jobqueue.Params{Kind: "work", Args: "after", AfterGroup: "g"})
		return err
	}))
	close(connect)
	require.Equal(t, "after", within(t, ended))
}
