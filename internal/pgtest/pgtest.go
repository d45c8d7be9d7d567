// Package pgtest starts PostgreSQL servers for tests. It finds the programs, starts a server on its
// own socket (as root, under another user), and removes everything when the test process ends, even
// if it is killed.
//
// Without the programs, tests are skipped, or fail if REQUIRE_POSTGRES=1 is set.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/db/pgpool"
)

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
	shared.Do(func() { shared.server, shared.err = start(Options{}) })
	skipWithout(t, shared.err)
	name := fmt.Sprintf("test_%d", shared.count.Add(1))
	// It is not dropped: that takes longer than creating it, and the server is removed as a whole.
	shared.server.exec(t, "create database "+name)
	return strings.Replace(shared.server.base, "/postgres?", "/"+name+"?", 1)
}

// Pool returns a pool on a new, empty database, with the limits of the programs' pools.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	config, err := pgpool.Config(URL(t), nil)
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
		t.Skip(err)
	default:
		t.Fatal("start PostgreSQL: ", err)
	}
}
