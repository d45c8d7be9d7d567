package sqldb

import (
	"context"
	"database/sql"

	"lessonkit.example/internal/migrate"
)

// QueryContext reads outside of a transaction. On SQLite it prepares each query once and keeps the
// statement, and a query that has begun runs to its end: that takes microseconds, while making it
// stoppable would cost two goroutines. pgx keeps prepared statements itself.
func (db *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if db.Engine == migrate.Postgres {
		return db.R.QueryContext(ctx, query, args...)
	}
	stmt, err := db.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.WithoutCancel(ctx), args...)
}

// QueryRowContext is like [DB.QueryContext], for one row.
func (db *DB) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if db.Engine == migrate.Postgres {
		return db.R.QueryRowContext(ctx, query, args...)
	}
	stmt, err := db.prepare(ctx, query)
	if err != nil {
		return db.R.QueryRowContext(ctx, query, args...) // returns the same error
	}
	return stmt.QueryRowContext(context.WithoutCancel(ctx), args...)
}

// prepare returns the kept statement of a query, or ctx's error.
func (db *DB) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := db.statements.Load(query); ok {
		return stmt.(*sql.Stmt), ctx.Err()
	}
	stmt, err := db.R.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if kept, loaded := db.statements.LoadOrStore(query, stmt); loaded {
		stmt.Close()
		return kept.(*sql.Stmt), nil
	}
	return stmt, nil
}
