//go:build linux

package parts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// postgres is one of two database servers. At any time one is the primary, and the other one its
// synchronous standby or about to become it.
type postgres struct {
	*process
	address, password string
}

func (c *Cluster) postgres(name, address, password string) *postgres {
	_, port, _ := net.SplitHostPort(address)
	settings := []string{
		"listen_addresses=127.0.0.1", "port=" + port, "unix_socket_directories=", "max_connections=200",
		"timezone=UTC",
		"cluster_name=" + name, // a standby gives this name to its primary
		// A commit is acknowledged when it is on the disks of both servers. Without the standby,
		// commits wait for its return: nothing is lost, and nothing is written. With two standbys
		// and ANY 1 (…) writing would go on. The names exclude the copy of a new standby's data.
		"synchronous_commit=on", "synchronous_standby_names=FIRST 1 (db1, db2)",
		"wal_retrieve_retry_interval=200ms", // by default a standby waits 5 s before it connects again
	}
	args := []string{"postgres", "-D", filepath.Join(c.dir, name, "data")}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	db := &postgres{address: address, password: password}
	db.process = c.process(name, func(ctx context.Context) error { return db.exec(ctx, "select 1") }, args...)
	return db
}

// create creates the data of the first primary.
func (db *postgres) create(ctx context.Context) error {
	file := filepath.Join(db.dir, "password")
	if err := errors.Join(os.MkdirAll(db.dir, 0o700), os.WriteFile(file, []byte(db.password), 0o600)); err != nil {
		return err
	}
	defer os.Remove(file)
	return db.run(ctx, "initdb", "-D", filepath.Join(db.dir, "data"), "-U", "postgres", "-A", "scram-sha-256",
		"--pwfile="+file, "--no-sync", "--locale=C", "--encoding=UTF8")
}

// follow makes a server that is not running the standby of a primary, with a new copy of its data.
// This also fences a former primary: what it had and the new one has not is gone before it starts.
func (db *postgres) follow(ctx context.Context, primary *postgres) error {
	data := filepath.Join(db.dir, "data")
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(primary.address)
	// Not synced, because what is lost here is processes, not the machine.
	if err := db.run(ctx, "pg_basebackup", "-h", host, "-p", port, "-U", "postgres", "-D", data,
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync"); err != nil {
		return err
	}
	return db.start(ctx)
}

func (db *postgres) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = db.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGPASSWORD="+db.password)
	if err := os.MkdirAll(db.dir, 0o700); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s of %s: %w\n%s", program, db.name, err, out)
	}
	return nil
}

// hasStandby reports by a nil error that a commit is acknowledged when the standby has it, too.
func (db *postgres) hasStandby(ctx context.Context) error {
	return db.expect(ctx, "select exists (select from pg_stat_replication where sync_state = 'sync')")
}

// promote makes a standby the primary and returns when it accepts writes.
func (db *postgres) promote(ctx context.Context) error {
	return db.expect(ctx, "select pg_promote(wait => true, wait_seconds => 60)")
}

func (db *postgres) exec(ctx context.Context, statement string) error {
	return db.with(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// expect returns an error if the result of a query is not true.
func (db *postgres) expect(ctx context.Context, query string) error {
	return db.with(ctx, func(conn *pgx.Conn) error {
		var yes bool
		if err := conn.QueryRow(ctx, query).Scan(&yes); err != nil || yes {
			return err
		}
		return fmt.Errorf("%s: %q is false", db.name, query)
	})
}

func (db *postgres) with(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable&connect_timeout=5",
		db.password, db.address))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(conn)
}
