// Package opendb opens a database of either engine, for programs that decide at run time. It links
// the drivers of both.
package opendb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"lessonkit.example/internal/sqldb"
	"lessonkit.example/internal/sqlitedb"
)

// DB is an open database.
type DB struct {
	*sqldb.DB

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
		return openSQLite(path, trace)
	}
	config, err := parsePostgres(url)
	if err != nil {
		return nil, err
	}
	config.PingTimeout = 5 * time.Second // of a connection that was idle and may be half-open
	db := &DB{}
	limits := tracer{
		statementTimeout: statementTimeout(sqldb.StatementTimeout),
		misused:          &db.poolerMisused,
		warn: func() {
			if db.OnPoolerMisused != nil {
				db.OnPoolerMisused()
			}
		},
	}
	config.ConnConfig.Tracer = limits
	if trace != nil {
		config.ConnConfig.Tracer = multitracer.New(limits, pgxTrace{trace})
	}
	if db.Pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	db.DB = sqldb.FromPostgres(stdlib.OpenDBFromPool(db.Pool))
	return db, nil
}

func openSQLite(path string, trace Trace) (*DB, error) {
	var write sqlitedb.Connector
	if trace != nil {
		write = func(d driver.Driver, name string) driver.Connector { return sqliteConnector{d, name, trace} }
	}
	read := func(d driver.Driver, name string) driver.Connector { return readConnector{d, name, trace} }
	db, err := sqlitedb.OpenWith(path, write, read)
	if err != nil {
		return nil, err
	}
	return &DB{DB: sqldb.FromSQLite(db.W, db.R)}, nil
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

func parsePostgres(url string) (*pgxpool.Config, error) {
	if err := sqldb.CheckPostgres(url); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// pgx redacts the password, but repeats an address that it cannot parse.
		return nil, sqldb.ErrPostgresAddress
	}
	return config, nil
}

// Close closes the database.
func (db *DB) Close() error {
	err := errors.Join(db.R.Close(), db.W.Close()) // which may be the same pool
	if db.Pool != nil {
		db.Pool.Close()
	}
	return err
}
