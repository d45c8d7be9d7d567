package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
)

// Result codes of SQLite (sqlite.org/rescode.html).
const (
	sqliteError                = 1
	sqliteBusy                 = 5
	sqliteLocked               = 6
	sqliteReadonly             = 8
	sqliteIOErr                = 10
	sqliteCorrupt              = 11
	sqliteFull                 = 13
	sqliteCantOpen             = 14
	sqliteNotADB               = 26
	sqliteConstraintForeignKey = 787
)

// IsForeignKey reports whether err is a reference to a row that does not exist.
func IsForeignKey(err error) bool {
	return pgCode(err) == "23503" || sqliteCode(err) == sqliteConstraintForeignKey
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
	if code := sqliteCode(err); code != 0 {
		return sqliteUnavailable(code) || isMissingTable(err)
	}
	var network net.Error
	var unsent interface{ SafeToRetry() bool } // pgx: nothing was sent
	return errors.As(err, &network) || errors.As(err, &unsent) && unsent.SafeToRetry() ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded) ||
		// database/sql and the pools have no error value for these, or one of a driver.
		strings.Contains(err.Error(), "failed to connect to `") ||
		strings.Contains(err.Error(), "database is closed") ||
		strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "closed pool")
}

// pgUnavailable classifies the codes of PostgreSQL's Appendix A.
func pgUnavailable(code string) bool {
	switch code {
	case "42P01", // undefined_table: not migrated
		"25006",          // read_only_sql_transaction: a standby
		"58030",          // io_error
		"57P01",          // admin_shutdown
		"57P02",          // crash_shutdown
		"57P03",          // cannot_connect_now
		"57P05",          // idle_session_timeout
		"57014",          // query_canceled
		"26000", "42P05": // a prepared statement is missing or exists: of a connection pooler
		return true
	}
	// connection_exception and insufficient_resources
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53")
}

func sqliteUnavailable(code int) bool {
	switch code & 0xff {
	case sqliteBusy, sqliteLocked, sqliteIOErr, sqliteFull, sqliteCantOpen, sqliteReadonly, sqliteNotADB,
		sqliteCorrupt:
		return true
	}
	return false
}

// IsNotMigrated reports whether err is due to a schema, table or column that does not exist.
func IsNotMigrated(err error) bool {
	const undefinedTable, undefinedColumn, invalidSchema = "42P01", "42703", "3F000"
	code := pgCode(err)
	return code == undefinedTable || code == undefinedColumn || code == invalidSchema || isMissingTable(err)
}

// isMissingTable reports whether SQLite misses a table or a column.
func isMissingTable(err error) bool {
	return sqliteCode(err) == sqliteError && (strings.Contains(err.Error(), "no such table") ||
		strings.Contains(err.Error(), "no such column") || strings.Contains(err.Error(), "has no column named"))
}

// isConflict reports whether a transaction failed because of another and may succeed when it is run
// again.
func isConflict(err error) bool {
	code := pgCode(err)
	return code == "40001" || code == "40P01" // serialization_failure, deadlock_detected
}

// pgCode returns the code of an error of pgx, or "".
func pgCode(err error) string {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState()
	}
	return ""
}

// sqliteCode returns the extended result code of an error of modernc.org/sqlite, or 0.
func sqliteCode(err error) int {
	var e interface{ Code() int }
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// isBusy reports whether SQLite has not got the lock of a file, which another connection holds.
func isBusy(err error) bool { return err != nil && sqliteCode(err)&0xff == sqliteBusy }
