// Package opendb opens a database of either engine, for programs that decide at run time. It links
// the drivers of both.
package opendb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"lessonkit.example/internal/db"
)

// DB is an open database.
type DB struct {
	*db.DB

	// Pool is PostgreSQL's native pool behind the DB, nil on SQLite.
	Pool *pgxpool.Pool

	// OnPoolerMisused is called once, when [DB.PoolerMisused] becomes true. It may be nil, and must
	// be set before the first statement.
	OnPoolerMisused func()
	poolerMisused   atomic.Bool
}

// PoolerMisused reports whether statements have failed because the database is behind a connection
// pooler that its address does not consider, see [PoolerAdvice].
func (db *DB) PoolerMisused() bool { return db.poolerMisused.Load() }

// Open opens `postgres://…` or `sqlite:PATH`. It does not connect to PostgreSQL yet: a server may
// start before its database. Each statement on PostgreSQL has a timeout.
func Open(ctx context.Context, url string) (*DB, error) { return OpenTraced(ctx, url, nil) }

// OpenTraced is like [Open], and traces the statements unless trace is nil.
func OpenTraced(ctx context.Context, url string, trace Trace) (*DB, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		opened, err := db.OpenSQLite(path, trace)
		if err != nil {
			return nil, err
		}
		return &DB{DB: opened}, nil
	}
	config, err := parsePostgres(url)
	if err != nil {
		return nil, err
	}
	config.PingTimeout = 5 * time.Second // of a connection that was idle and may be half-open
	d := &DB{}
	limits := tracer{
		statementTimeout: statementTimeout(20 * time.Second),
		misused:          &d.poolerMisused,
		warn: func() {
			if d.OnPoolerMisused != nil {
				d.OnPoolerMisused()
			}
		},
	}
	config.ConnConfig.Tracer = limits
	if trace != nil {
		config.ConnConfig.Tracer = multitracer.New(limits, pgxTrace{trace})
	}
	if d.Pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	d.DB = db.FromPostgres(stdlib.OpenDBFromPool(d.Pool))
	return d, nil
}

// Check returns an error if [Open] does not accept an address. The error does not contain the
// address.
func Check(url string) error {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok && path != "" {
		return nil
	}
	_, err := parsePostgres(url)
	return err
}

var errPostgresAddress = errors.New("database address: not a valid postgres:// address")

func parsePostgres(url string) (*pgxpool.Config, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errors.New("database address: must be postgres://… or sqlite:PATH")
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// pgx redacts the password, but repeats an address that it cannot parse.
		return nil, errPostgresAddress
	}
	return config, nil
}

// Close closes the database.
func (db *DB) Close() error {
	err := db.DB.Close()
	if db.Pool != nil {
		db.Pool.Close()
	}
	return err
}
