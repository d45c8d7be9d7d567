// Package pgqueue stores a job queue in PostgreSQL (12 or later), natively through pgx. Databases
// that speak its protocol, such as CockroachDB and YugabyteDB, do not work: claims find rows by
// their addresses (ctid), step over locked rows (SKIP LOCKED) and take turns by advisory locks,
// which is what makes them fast, and which those lack in part.
//
//	store := pgqueue.New(pool, pgqueue.Config{}) // a pgxpool.Pool
//	err := store.Migrate(ctx)
//
// [New] returns a [Store] for jobqueue.NewClient and jobqueue.NewWorker;
// [Store.Migrate] creates its tables. [Store.EnqueueTx] enqueues in a transaction of database/sql
// over pgx's stdlib driver, [Store.CompleteTx] completes a job in one, with the same names as in
// package sqlitequeue; [Store.EnqueuePgx] and [Store.CompletePgx] do so in one of pgx.
//
// # Connection poolers
//
// Every statement but those of [Store.Migrate] works in a pooler's transaction mode. If the pooler
// does not support prepared statements, set DefaultQueryExecMode of the pool to
// pgx.QueryExecModeExec. LISTEN needs a direct connection: configure one in Config.ListenConn, or
// set Config.PollOnly.
//
// # Handlers that need connections
//
// A worker needs connections of the pool too, and loses its lease, with all its jobs, when it gets
// none for that long. Handlers that keep connections for seconds, as a transaction around a call of
// a service does, must use a pool of their own, or one with more connections than handlers run.
//
// # Suspended processes
//
// A process that is suspended, or loses its network, while it exchanges jobs with the server keeps
// a transaction and its locks open. The server ends it after about a lease, so that other workers
// can rescue the jobs, by its limits for connections by TCP. It does not find two rare cases, in
// which the transaction lasts until the process continues or is killed: a process on a Unix-domain
// socket, and, before PostgreSQL 17, one suspended when it had sent only a part of an exchange. A
// transaction of the program that has called CompleteTx or SaveTx is not ended: its job, and no
// other, is rescued when it has ended by itself, or by idle_in_transaction_session_timeout.
package pgqueue

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"lessonkit.example/internal/db"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/internal/rules"
	"lessonkit.example/jobqueue/internal/wake"
)

// Config configures a [Store]. The zero value works.
type Config struct {
	// Schema holds the tables; Migrate creates it. Defaults to the first schema of the search path.
	// Roles other than the one that migrates need the rights to use it and its sequences, and to
	// select, insert, update and delete in its tables.
	Schema string
	// ListenConn configures the connection that listens for notifications. Defaults to the pool's
	// configuration with its BeforeConnect; the connection is not taken from the pool.
	ListenConn *pgx.ConnConfig
	// PollOnly neither sends notifications nor listens for them, for servers that are reached only
	// through a pooler in transaction mode, where LISTEN does not work. Workers of the same process
	// are still woken at once.
	PollOnly bool
	// OnEnqueue is called before jobs are enqueued.
	OnEnqueue jobqueue.EnqueueHook
}

// Store is a jobqueue.Store. It is safe for concurrent use and has nothing to close; the pool
// belongs to the caller. Package jobqueue calls its methods that have no comment: those of
// driver.Store.
type Store struct {
	pool   *pgxpool.Pool
	cfg    Config
	hub    wake.Hub
	notify *wake.Coalescer

	promoter  *wake.Coalescer // of keys and groups
	listening atomic.Int32    // how many Listen receive notifications

	lastKey, lastGroup atomic.Value // string, of promoteIdle

	exclusiveAgain atomic.Int64 // when claims take their lock again, in nanoseconds since 1970
	keyedUntil     atomic.Int64 // until when all claims take it
	lookFar        atomic.Bool  // the last claim found jobs without a turn
}

var _ jobqueue.TxStore = (*Store)(nil)

// New returns a store on pool. It does not connect.
func New(pool *pgxpool.Pool, cfg Config) *Store {
	s := &Store{pool: pool, cfg: cfg}
	s.notify = wake.NewCoalescer(s.sendNotify)
	s.promoter = wake.NewCoalescer(s.promoteAll)
	return s
}

//go:embed migrations
var embedded embed.FS

var migrations, _ = fs.Sub(embedded, "migrations") // cannot fail, the directory is embedded

const versionTable = "jobqueue_migrations"

// Migrate creates the tables or updates them. Several processes may do so at once. The error is
// [jobqueue.ErrUnavailable] while the database is not available. It connects
// outside the pool, with the pool's BeforeConnect and AfterConnect. On a server whose version()
// names another database than PostgreSQL it changes nothing and returns an error. It needs
// PostgreSQL's own address, not a pooler in transaction mode: its lock belongs to a connection.
func (s *Store) Migrate(ctx context.Context) (err error) {
	defer rules.Classify(&err)
	var version string
	if err := s.pool.QueryRow(ctx, "select version()").Scan(&version); err != nil {
		return fmt.Errorf("read the version of the server: %w", err)
	}
	if err := checkServer(version); err != nil {
		return err
	}
	if s.cfg.Schema != "" {
		// Where it exists, "if not exists" would need the right to create one nevertheless.
		var exists bool
		err := s.pool.QueryRow(ctx, "select exists (select from pg_namespace where nspname = $1)",
			s.cfg.Schema).Scan(&exists)
		if err == nil && !exists {
			_, err = s.pool.Exec(ctx, "create schema if not exists "+quote(s.cfg.Schema))
		}
		if err != nil && code(err) != uniqueViolation { // of another process that was faster
			return fmt.Errorf("create schema %s: %w", s.cfg.Schema, err)
		}
	}
	pool := s.sqlDB()
	defer pool.Close()
	return db.FromPostgres(pool).Migrate(ctx, versionTable, migrations)
}

// Migrated reports whether the tables exist and are up to date.
func (s *Store) Migrated(ctx context.Context) (_ bool, err error) {
	defer rules.Classify(&err)
	pool := stdlib.OpenDBFromPool(s.pool)
	defer pool.Close()
	return db.FromPostgres(pool).Migrated(ctx, s.sql(versionTable), migrations)
}

// EnqueueHook returns Config.OnEnqueue. Package jobqueue calls it.
func (s *Store) EnqueueHook() jobqueue.EnqueueHook { return s.cfg.OnEnqueue }

// sqlDB connects outside the pool, with the pool's hooks, because goose needs the schema as search
// path.
func (s *Store) sqlDB() *sql.DB {
	pc := s.pool.Config()
	before := func(ctx context.Context, cc *pgx.ConnConfig) error {
		if pc.BeforeConnect == nil {
			return nil
		}
		*cc = *cc.Copy() // the hook may change what it points to
		return pc.BeforeConnect(ctx, cc)
	}
	after := func(ctx context.Context, conn *pgx.Conn) error {
		if pc.AfterConnect != nil {
			if err := pc.AfterConnect(ctx, conn); err != nil {
				return err
			}
		}
		if s.cfg.Schema == "" {
			return nil
		}
		_, err := conn.Exec(ctx, "set search_path to "+quote(s.cfg.Schema))
		return err
	}
	return stdlib.OpenDB(*pc.ConnConfig, stdlib.OptionBeforeConnect(before), stdlib.OptionAfterConnect(after))
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// sql returns query with the schema before every table name.
func (s *Store) sql(query string) string {
	if s.cfg.Schema == "" {
		return query
	}
	return strings.ReplaceAll(query, "jobqueue_", quote(s.cfg.Schema)+".jobqueue_")
}

// resetIfSilent closes the idle connections of the pool when a call has ended by its deadline: the
// network may have lost them all without a word, and each would take as long to find that out.
func (s *Store) resetIfSilent(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		s.pool.Reset()
	}
}

// code returns the SQLSTATE of err, or "".
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

const (
	uniqueViolation  = "23505"
	lockNotAvailable = "55P03"
)
