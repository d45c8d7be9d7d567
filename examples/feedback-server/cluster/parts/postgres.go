//go:build linux

package parts

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// postgres is one of two database servers. At any time one is the primary, and the other one its
// synchronous standby or about to become it.
type postgres struct {
	*process
	address, other, password string // other is the address of the other server
}

// postgres returns a server that script starts. deploy/postgres.sh explains its settings.
func (c *Cluster) postgres(name, address, other, password, script string) *postgres {
	db := &postgres{address: address, other: other, password: password}
	up := func(ctx context.Context) error { return db.expect(ctx, "select true") }
	db.process = c.process(name, up, "sh", script)
	return db
}

func (db *postgres) data() string { return filepath.Join(db.dir, "data") }

// startAfter starts a server. If it has no data yet, it is the primary, or a standby of it.
func (db *postgres) startAfter(ctx context.Context, primary *postgres) error {
	_, port, _ := net.SplitHostPort(db.address)
	db.env = []string{
		"NAME=" + db.name, "PGDATA=" + db.data(), "LISTEN=127.0.0.1", "PGPORT=" + port,
		"PRIMARY=" + primary.name, "OTHER=" + db.other,
		"COPY_OPTIONS=--no-sync", // what is lost here is processes, not machines
		"PGPASSWORD=" + db.password, "FEEDBACK_PASSWORD=" + db.password,
	}
	return db.start(ctx)
}

// hasStandby reports by a nil error that a commit is acknowledged when the standby has it, too.
func (db *postgres) hasStandby(ctx context.Context) error {
	return db.expect(ctx, "select exists (select from pg_stat_replication where sync_state = 'sync')")
}

// promote makes a standby the primary and returns when it accepts writes.
func (db *postgres) promote(ctx context.Context) error {
	return db.expect(ctx, "select pg_promote(wait => true, wait_seconds => 60)")
}

// expect returns an error if the result of a query is not true.
func (db *postgres) expect(ctx context.Context, query string) error {
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable&connect_timeout=5",
		db.password, db.address))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var yes bool
	if err := conn.QueryRow(ctx, query).Scan(&yes); err != nil || yes {
		return err
	}
	return fmt.Errorf("%s: %q is false", db.name, query)
}
