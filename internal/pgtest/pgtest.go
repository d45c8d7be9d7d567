// Package pgtest starts PostgreSQL servers for tests. It finds the programs, starts a server on its
// own socket (as root, under another user), and removes everything when the test process ends, even
// if it is killed.
//
// Without the programs, tests are skipped, or fail if REQUIRE_POSTGRES=1 is set. TEST_DATABASE_URL
// is the address of a server to use instead; its user must be allowed to create databases.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/db/pgpool"
)

const missing = "PostgreSQL's programs (initdb, postgres) were not found: " +
	"run `apt-get install postgresql` on Debian, or set TEST_DATABASE_URL"

// shared is the test process's server for URL and Pool.
var shared struct {
	sync.Once
	server *Server
	err    error
	count  atomic.Int64
}

// URL returns the address of a new, empty database on a server that the tests of this process
// share. That server does not flush to disk.
func URL(t testing.TB) string {
	t.Helper()
	shared.Do(func() {
		if base := os.Getenv("TEST_DATABASE_URL"); base != "" {
			shared.server = &Server{base: base}
			return
		}
		shared.server, shared.err = start(Options{})
	})
	skipWithout(t, shared.err)
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), shared.count.Add(1))
	return shared.server.createDatabase(t, name)
}

// Pool returns a pool on a new, empty database, with the limits of the programs' pools.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	config, err := pgpool.Config(URL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Start starts a server for one test, which may kill and restart it. It is removed at the end of
// the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := start(o)
	skipWithout(t, err)
	t.Cleanup(s.remove)
	return s
}

func skipWithout(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case err == errMissing && os.Getenv("REQUIRE_POSTGRES") != "1":
		t.Skip(missing)
	default:
		t.Fatal("start PostgreSQL: ", err)
	}
}

func (s *Server) createDatabase(t testing.TB, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.base)
	if err != nil {
		t.Fatal("connect to PostgreSQL: ", err)
	}
	defer conn.Close(ctx)
	// It is not dropped: that takes longer than creating it, and our server is removed as a whole.
	if _, err := conn.Exec(ctx, "create database "+name); err != nil {
		t.Fatal("create database: ", err)
	}
	u, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
