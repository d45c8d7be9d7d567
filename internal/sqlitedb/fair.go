package sqlitedb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// SQLite lets connections wait for the lock of a file by trying again, at first after 1 ms, in the
// end every 100 ms. A connection that writes all the time releases the lock for microseconds, in
// which nobody tries, so that all others time out. Connections of this package try more often, and
// one that has written without a pause for as long as maxTurn pauses for longer than the others
// wait between two attempts.
const (
	maxTurn  = 50 * time.Millisecond
	pause    = time.Millisecond
	minRetry = 200 * time.Microsecond
	maxRetry = 800 * time.Microsecond
)

// fairConn is a connection whose transactions take turns with those of other connections, of this
// process or another.
type fairConn struct {
	Conn
	turn  time.Time // when the first transaction began since the last pause
	ended time.Time // when the last transaction ended
}

// BeginTx implements driver.ConnBeginTx. Unlike SQLite's wait for the lock, this one ends with ctx.
func (c *fairConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if time.Since(c.ended) < pause && time.Since(c.turn) > maxTurn {
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
	if err := c.setBusyTimeout(0); err != nil {
		return nil, err
	}
	tx, err := c.begin(ctx, opts)
	if restored := c.setBusyTimeout(busyTimeout); err == nil && restored != nil {
		return nil, errors.Join(restored, tx.Rollback())
	}
	if err != nil {
		return nil, err
	}
	if time.Since(c.ended) >= pause {
		c.turn = time.Now()
	}
	return fairTx{tx, c}, nil
}

func (c *fairConn) begin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	late := time.Now().Add(busyTimeout)
	for {
		tx, err := c.Conn.BeginTx(ctx, opts)
		if !isBusy(err) || time.Now().After(late) {
			return tx, err
		}
		if err := sleep(ctx, minRetry+rand.N(maxRetry-minRetry)); err != nil {
			return nil, err
		}
	}
}

func (c *fairConn) setBusyTimeout(timeout time.Duration) error {
	_, err := c.ExecContext(context.Background(), fmt.Sprintf("pragma busy_timeout=%d", timeout.Milliseconds()), nil)
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type fairTx struct {
	driver.Tx
	conn *fairConn
}

// Commit implements driver.Tx.
func (tx fairTx) Commit() error {
	err := tx.Tx.Commit()
	tx.conn.ended = time.Now()
	return err
}

// Rollback implements driver.Tx.
func (tx fairTx) Rollback() error {
	err := tx.Tx.Rollback()
	tx.conn.ended = time.Now()
	return err
}
