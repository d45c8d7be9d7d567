package pgqueue_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/longtest"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
)

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// execSQL executes a statement by a pool, a connection or a transaction, and returns how many rows
// it has changed.
func execSQL(
	t *testing.T, db interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	}, query string, args ...any,
) int64 {
	t.Helper()
	tag, err := db.Exec(t.Context(), query, args...)
	require.NoError(t, err, query)
	return tag.RowsAffected()
}

func number(t *testing.T, pool *pgxpool.Pool, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), query, args...).Scan(&n), query)
	return n
}

// waitLimit bounds every wait for something that happens within seconds on an idle machine.
const waitLimit = 3 * time.Minute

// eventually waits until ok returns true. Unlike require.Eventually it calls ok in the goroutine of
// the test, so that ok may use require.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); !ok(); time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), what)
	}
}

// load adds n jobs that take no time and some that take d each.
func load(t *testing.T, store *pgqueue.Store, n, slow int, d time.Duration) {
	t.Helper()
	ps := make([]jobqueue.Params, n)
	for i := range ps {
		ps[i] = jobqueue.Params{Kind: "work", Args: time.Duration(0)}
		if slow > 0 && i%(n/slow) == 0 {
			ps[i].Args = d
		}
	}
	_, err := jobqueue.NewClient(store).EnqueueMany(t.Context(), ps)
	require.NoError(t, err)
}

// All connections of a plain pool become half-open: within 20 seconds the worker runs jobs, rescues
// those of dead workers, and enqueues those of schedules.
func TestConnectionsFallSilent(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{TCP: true})
	direct := connect(t, server.URL())
	proxy := startProxy(t, server.Addr())
	pool := connect(t, strings.Replace(server.URL(), server.Addr(), proxy.addr(), 1)+"&pool_max_conns=16")
	store := pgqueue.New(pool, pgqueue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	other := pgqueue.New(direct, pgqueue.Config{})

	var mu sync.Mutex
	ran := map[string]time.Time{} // by kind
	when := func(kind string) time.Time {
		mu.Lock()
		defer mu.Unlock()
		return ran[kind]
	}
	w := jobqueue.NewWorker(store, jobqueue.WorkerConfig{Schedules: []jobqueue.Schedule{
		{Name: "s", When: jobqueue.Every(time.Second), Params: jobqueue.Params{Kind: "scheduled"}},
	}})
	for _, kind := range []string{"work", "rescued", "scheduled"} {
		jobqueue.Handle(w, kind, func(context.Context, *jobqueue.Job, any) error {
			mu.Lock()
			defer mu.Unlock()
			ran[kind] = time.Now()
			return nil
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- w.Run(ctx) }()
	eventually(t, "a schedule", func() bool { return !when("scheduled").IsZero() })
	var held []*pgxpool.Conn
	for range 12 {
		conn, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		held = append(held, conn)
	}
	for _, conn := range held { // many are idle now
		conn.Release()
	}
	dead := register(t, other)
	client := jobqueue.NewClient(other)
	_, err := client.Enqueue(t.Context(), jobqueue.Params{Kind: "rescued", RunAt: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	execSQL(t, direct, `update jobqueue_job set worker = $1, run_at = now() where kind = 'rescued'`,
		dead)
	proxy.silence()
	silent := time.Now()
	_, _, err = other.Heartbeat(t.Context(), dead, 0)
	require.NoError(t, err)
	_, err = client.Enqueue(t.Context(), jobqueue.Params{Kind: "work"})
	require.NoError(t, err)
	for _, kind := range []string{"work", "rescued", "scheduled"} {
		eventually(t, kind, func() bool { return when(kind).After(silent) })
		t.Logf("%s after %v", kind, when(kind).Sub(silent))
	}
	require.Less(t, time.Since(silent), 20*time.Second)
	cancel()
	require.NoError(t, <-stopped)
}

// proxy is a TCP proxy whose connections can become half-open.
type proxy struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	open     int // connections
	silent   int // the first ones, which forward nothing more
}

func startProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: target}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); group.Wait() })
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	var group sync.WaitGroup
	p.mu.Lock()
	p.open++
	number := p.open
	p.mu.Unlock()
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		group.Go(func() {
			defer client.Close()
			defer server.Close()
			buf := make([]byte, 4096)
			for {
				n, err := way[0].Read(buf)
				if err != nil {
					return
				}
				if p.isSilent(number) {
					continue
				}
				if _, err := way[1].Write(buf[:n]); err != nil {
					return
				}
			}
		})
	}
	group.Wait()
}

// silence makes the open connections half-open: they forward nothing more and do not end.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = p.open
}

func (p *proxy) isSilent(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return number <= p.silent
}
