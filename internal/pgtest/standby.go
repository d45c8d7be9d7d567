package pgtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby starts a synchronous standby of s on an address (host:port) of 127.0.0.1: from then on a
// commit is acknowledged when both servers have it, which requires a durable server or the setting
// synchronous_commit=on. It is removed at the end of the test.
func (s *Server) Standby(t testing.TB, addr string) *Server {
	t.Helper()
	if !s.options.Durable && s.options.Settings["synchronous_commit"] != "on" {
		t.Fatal("a standby requires Durable or synchronous_commit=on")
	}
	o := s.options
	o.TCP, o.addr = true, addr
	standby, err := startWith(o, func(standby *Server) *exec.Cmd {
		return exec.Command(filepath.Join(s.bin, "pg_basebackup"), "--dbname="+s.base, "--pgdata="+standby.data(),
			"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	})
	if err != nil {
		t.Fatal("start a standby of PostgreSQL: ", err)
	}
	t.Cleanup(standby.remove)
	s.exec(t, "alter system set synchronous_standby_names = '*'")
	s.exec(t, "select pg_reload_conf()")
	s.await(t, "select exists (select from pg_stat_replication where sync_state = 'sync')")
	return standby
}

// Promote makes a standby the primary and waits until it accepts writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.exec(t, "select pg_promote()")
	s.await(t, "select not pg_is_in_recovery()")
}

func (s *Server) exec(t testing.TB, statement string) {
	t.Helper()
	s.with(t, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// await repeats a query until its result is true.
func (s *Server) await(t testing.TB, query string) {
	t.Helper()
	s.with(t, func(ctx context.Context, conn *pgx.Conn) error {
		for {
			var yes bool
			if err := conn.QueryRow(ctx, query).Scan(&yes); err != nil || yes {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// with runs do on a connection, and ends the test if it fails or takes longer than a minute.
func (s *Server) with(t testing.TB, do func(ctx context.Context, conn *pgx.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.base)
	if err == nil {
		defer conn.Close(ctx)
		err = do(ctx, conn)
	}
	if err != nil {
		t.Fatalf("PostgreSQL: %v\n%s", err, s.log())
	}
}

func (s *Server) log() string {
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(log)
}
