package jobqueue

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// server is the PostgreSQL under measurement.
type server struct {
	admin string // URL of the database postgres
	pid   int    // of the postmaster when it is our own, else 0
	stop  func()
}

// startServer starts PostgreSQL on a directory of its own, durable as it is by default.
func startServer(ctx context.Context) (*server, error) {
	if u := os.Getenv("DATABASE_URL"); u != "" {
		return &server{admin: u, stop: func() {}}, nil
	}
	bin, err := binDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "jobqueue-bench-")
	if err != nil {
		return nil, err
	}
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			if u, err = user.Lookup("nobody"); err != nil {
				return nil, err
			}
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "shared_buffers=1GB", "-c", "max_wal_size=4GB", "-c", "max_connections=200", "-c", "logging_collector=off")
	cmd.SysProcAttr, cmd.Dir = attr, dir
	logFile, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{admin: "postgres://postgres@/postgres?host=" + url.QueryEscape(dir), pid: cmd.Process.Pid}
	s.stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	for range 200 {
		conn, err := pgx.Connect(ctx, s.admin)
		if err == nil {
			return s, conn.Close(ctx)
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	return nil, errors.New("PostgreSQL does not answer")
}

func binDir() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	out, err := exec.Command("pg_config", "--bindir").Output()
	if err == nil {
		if dir := strings.TrimSpace(string(out)); fileExists(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	return "", errors.New("no PostgreSQL programs found; set DATABASE_URL or PATH")
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// database makes an empty database and returns its URL.
func (s *server) database(ctx context.Context, name string) (string, error) {
	conn, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	name = "jobqueue_bench_" + name
	if _, err := conn.Exec(ctx, "drop database if exists "+name+" with (force)"); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, "create database "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(s.admin)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// cpu is the processor time that the server and its backends, past ones included, have used; 0 when the server is not ours.
func (s *server) cpu() time.Duration {
	if s.pid == 0 {
		return 0
	}
	ticks := statTicks(s.pid, true)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.pid, s.pid))
	for _, f := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(f); err == nil {
			ticks += statTicks(pid, false)
		}
	}
	return time.Duration(ticks) * time.Second / 100
}

func statTicks(pid int, reaped bool) (ticks int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after) // from the third field of proc(5) on
	last := 12                      // utime, stime
	if reaped {
		last = 14 // cutime, cstime
	}
	for _, f := range fields[11 : last+1] {
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return ticks
}

// settle leaves nothing to be done by the server in the background.
func settle(ctx context.Context, pool *pgxpool.Pool) error {
	for _, q := range []string{"vacuum analyze", "checkpoint"} {
		if _, err := pool.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func wal(ctx context.Context, pool *pgxpool.Pool) (bytes int64, err error) {
	err = pool.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").Scan(&bytes)
	return bytes, err
}
