package pgqueue

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// rows are the rows of either driver.
type rows interface {
	Next() bool
	Scan(dst ...any) error
	Err() error
}

// querier runs a statement on a pool or a transaction of either driver and calls scan for every
// row.
type querier interface {
	query(ctx context.Context, query string, scan func(rows) error, args ...any) error
}

type pgxQuerier struct {
	db interface {
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (q pgxQuerier) query(ctx context.Context, query string, scan func(rows) error, args ...any) error {
	rs, err := q.db.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rs.Close()
	return each(rs, scan)
}

type sqlQuerier struct{ tx *sql.Tx }

func (q sqlQuerier) query(ctx context.Context, query string, scan func(rows) error, args ...any) error {
	rs, err := q.tx.QueryContext(ctx, query, args...)
	if err != nil && strings.HasPrefix(err.Error(), "sql: converting argument") { // database/sql, for its driver
		return fmt.Errorf("the transaction must be one of pgx's stdlib driver: %w", err)
	}
	if err != nil {
		return err
	}
	defer rs.Close()
	return each(rs, scan)
}

// eachRow has the rows of a statement of a batch scanned into variables, and calls row after each.
func eachRow(q *pgx.QueuedQuery, into []any, row func()) {
	q.Query(func(rs pgx.Rows) error {
		_, err := pgx.ForEachRow(rs, into, func() error {
			row()
			return nil
		})
		return err
	})
}

func each(rs rows, scan func(rows) error) error {
	for rs.Next() {
		if err := scan(rs); err != nil {
			return err
		}
	}
	return rs.Err()
}
