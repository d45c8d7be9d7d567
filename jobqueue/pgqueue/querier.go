package pgqueue

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
)

type scanner interface{ Scan(dst ...any) error }

// querier runs a statement on a pool or a transaction of either driver and calls scan, if not nil, for every row.
type querier interface {
	query(ctx context.Context, query string, scan func(scanner) error, args ...any) error
}

type pgxQuerier struct {
	db interface {
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (q pgxQuerier) query(ctx context.Context, query string, scan func(scanner) error, args ...any) error {
	rows, err := q.db.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if scan == nil {
			continue
		}
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

type sqlQuerier struct{ tx *sql.Tx }

func (q sqlQuerier) query(ctx context.Context, query string, scan func(scanner) error, args ...any) error {
	rows, err := q.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if scan == nil {
			continue
		}
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
