package jobqueue

import (
	"context"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/pgtest"
)

// server is a private PostgreSQL.
type server struct {
	url string // of the database postgres
	pid int    // of the postmaster
}

func startServer(ctx context.Context, t *harness.TB) *server {
	settings := map[string]string{"shared_buffers": "1GB", "max_wal_size": "4GB"}
	s := &server{url: pgtest.Start(t, pgtest.Options{Durable: true, Settings: settings}).URL()}
	conn := harness.Must(pgx.Connect(ctx, s.url))
	defer conn.Close(ctx)
	const pidSQL = `select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int`
	harness.Check(conn.QueryRow(ctx, pidSQL).Scan(&s.pid))
	return s
}

// database creates an empty database and returns its URL, for a pool of up to 10 connections.
func (s *server) database(ctx context.Context, name string) string {
	conn := harness.Must(pgx.Connect(ctx, s.url))
	defer conn.Close(ctx)
	harness.Must(conn.Exec(ctx, "drop database if exists "+name+" with (force)"))
	harness.Must(conn.Exec(ctx, "create database "+name))
	u := harness.Must(url.Parse(s.url))
	u.Path = "/" + name
	q := u.Query()
	q.Set("pool_max_conns", "10")
	u.RawQuery = q.Encode()
	return u.String()
}

// settle finishes what the server would do in the background.
func settle(ctx context.Context, pool *pgxpool.Pool) {
	for _, q := range []string{"vacuum analyze", "checkpoint"} {
		harness.Must(pool.Exec(ctx, q))
	}
}

func wal(ctx context.Context, pool *pgxpool.Pool) (bytes int64) {
	harness.Check(pool.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").Scan(&bytes))
	return bytes
}
