package pgqueue_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue/pgqueue"
)

// frozenConn does not read while it is frozen, like the connection of a suspended process.
type frozenConn struct {
	net.Conn
	frozen  *atomic.Bool
	release chan struct{}
}

func (c frozenConn) Read(b []byte) (int, error) {
	if c.frozen.Load() {
		<-c.release
	}
	return c.Conn.Read(b)
}

// A process is suspended while it receives the jobs that it claims. Its connection lives on, and so
// would the transaction with its locks, but the server ends it after the deadline of the exchange.
func TestServerEndsAnExchangeThatIsNotRead(t *testing.T) {
	t.Parallel()
	const jobs = 105
	server := pgtest.Start(t, pgtest.Options{TCP: true})
	pool := connect(t, server.URL())
	store := pgqueue.New(pool, pgqueue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	execSQL(t, pool, `
insert into jobqueue_job (queue, kind, priority, max_attempts, args)
select 'default', 'work', 2, 10, ('0' || repeat(' ', 100000))::json from generate_series(1, $1)`, jobs)

	var frozen atomic.Bool
	release := make(chan struct{})
	config := pool.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return frozenConn{conn, &frozen, release}, err
	}
	suspendedPool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(suspendedPool.Close)
	suspended := pgqueue.New(suspendedPool, pgqueue.Config{})
	worker := register(t, suspended)
	res, err := suspended.Exchange(t.Context(), claimRequest(worker, 5))
	require.NoError(t, err)
	require.Len(t, res.Jobs, 5)

	frozen.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Second)
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := suspended.Exchange(ctx, claimRequest(worker, jobs)); err == nil {
			t.Error("the exchange was committed")
		}
	})
	defer group.Wait()
	defer close(release)
	waiting := func() int {
		return number(t, pool, `select count(*) from pg_stat_activity where wait_event = 'ClientWrite'`)
	}
	eventually(t, "the server waits for the client", func() bool { return waiting() == 1 })
	_, alive, err := store.Heartbeat(t.Context(), worker, 0) // its lease ends
	require.NoError(t, err)
	require.True(t, alive)
	rescued := 0
	eventually(t, "its jobs are rescued", func() bool {
		n, err := store.Rescue(t.Context(), false)
		require.NoError(t, err)
		rescued += n
		return rescued == 5
	})
	require.Zero(t, waiting())
	other := register(t, store)
	res, err = store.Exchange(t.Context(), claimRequest(other, 2*jobs))
	require.NoError(t, err)
	require.Len(t, res.Jobs, jobs)
}
