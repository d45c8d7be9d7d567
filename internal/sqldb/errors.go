package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsForeignKey reports whether err is a reference to a row that does not exist.
func IsForeignKey(err error) bool {
	return pgCode(err) == "23503" || sqliteCode(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// IsUnavailable reports whether the database is at fault rather than the statement: it cannot be
// reached, is stopping or overloaded, its disk fails, or it has no tables yet. The same statement
// may succeed later.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if code := pgCode(err); code != "" {
		return pgUnavailable(code)
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		return sqliteUnavailable(lite)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded) ||
		pgconn.SafeToRetry(err) ||
		// database/sql and the pools have no error value for these.
		strings.Contains(err.Error(), "database is closed") ||
		strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "closed pool")
}

// pgUnavailable classifies the codes of PostgreSQL's Appendix A.
func pgUnavailable(code string) bool {
	switch code {
	case "42P01", // undefined_table: not migrated
		"25006",            // read_only_sql_transaction: a standby
		"58030",            // io_error
		"57P01",            // admin_shutdown
		"57P02",            // crash_shutdown
		"57P03",            // cannot_connect_now
		"57P05",            // idle_session_timeout
		"57014",            // query_canceled
		undefinedStatement, // of a connection pooler: see isPoolerError
		duplicateStatement:
		return true
	}
	// connection_exception and insufficient_resources
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53")
}

func sqliteUnavailable(err *sqlite.Error) bool {
	switch err.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return true
	case sqlite3.SQLITE_ERROR:
		return strings.Contains(err.Error(), "no such table") // not migrated
	}
	return false
}

// isConflict reports whether a transaction failed because of another and may succeed when it is run
// again.
func isConflict(err error) bool {
	code := pgCode(err)
	return code == "40001" || code == "40P01" // serialization_failure, deadlock_detected
}

func pgCode(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
