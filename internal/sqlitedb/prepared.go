package sqlitedb

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// maxKept is how many statements a connection keeps. A program has fewer, unless their texts are
// composed; then it loses all of them now and then.
const maxKept = 200

// preparingConn prepares each statement that has arguments once. The driver prepares a statement
// anew for each execution, which takes longer than executing most of ours does.
type preparingConn struct {
	Conn
	kept map[string]Stmt // those that are not in use, by their text
}

// take returns a prepared statement that the caller alone uses.
func (c *preparingConn) take(ctx context.Context, query string) (Stmt, error) {
	if s, ok := c.kept[query]; ok {
		delete(c.kept, query)
		return s, nil
	}
	prepared, err := c.Conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	full, ok := prepared.(Stmt)
	if !ok {
		prepared.Close()
		return nil, fmt.Errorf("the driver has statements of type %T", prepared)
	}
	return full, nil
}

// giveBack keeps a statement for the next execution, unless another with its text is kept already.
func (c *preparingConn) giveBack(query string, s Stmt) {
	if _, ok := c.kept[query]; ok {
		s.Close()
		return
	}
	if len(c.kept) == maxKept {
		c.closeKept()
	}
	c.kept[query] = s
}

// closeKept closes the statements. That fails only for one that has failed and was not reset.
func (c *preparingConn) closeKept() {
	for _, s := range c.kept {
		s.Close()
	}
	clear(c.kept)
}

// ExecContext implements driver.ExecerContext.
func (c *preparingConn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	if len(args) == 0 {
		return c.Conn.ExecContext(ctx, query, args) // may be several statements
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	defer c.giveBack(query, s)
	return s.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *preparingConn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	if len(args) == 0 {
		return c.Conn.QueryContext(ctx, query, args)
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		c.giveBack(query, s)
		return nil, err
	}
	return keptRows{rows, func() { c.giveBack(query, s) }}, nil
}

// Close implements driver.Conn.
func (c *preparingConn) Close() error {
	c.closeKept()
	return c.Conn.Close()
}

type keptRows struct {
	driver.Rows
	giveBack func()
}

// Close implements driver.Rows.
func (r keptRows) Close() error {
	defer r.giveBack()
	return r.Rows.Close()
}
