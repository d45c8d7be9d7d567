// Package sqlitedb opens the embedded SQLite engine the way a server needs it:
// one connection that writes, several that read, durable commits, and
// concurrent small writes gathered into one transaction ([Group]).
package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"modernc.org/sqlite" // the driver, registered as "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Options of [Open]. The zero value is good for a server.
type Options struct {
	// Synchronous is SQLite's durability at commit: "FULL" keeps every commit
	// through a power cut, "NORMAL" may lose the newest ones but corrupts
	// nothing. Defaults to "FULL".
	Synchronous string

	// Readers is how many connections read at once. Defaults to GOMAXPROCS:
	// more only fight over the processor and each costs a page cache.
	Readers int
}

// DB is one database file, opened twice. Writes go through W, which has a
// single connection and takes the write lock when a transaction begins, so
// that no transaction fails half way for having read first. R refuses writes.
//
// Never use W inside a transaction of W: there is no second connection.
type DB struct {
	W, R *sql.DB
}

// busyTimeout is how long a connection waits for another process's write.
const busyTimeout = 10 * time.Second

// Open opens the file at path, creating it (readable by its owner only) and
// its directory when they do not exist.
func Open(path string, o Options) (*DB, error) {
	if path == "" || path == ":memory:" {
		return nil, errors.New("open sqlite: a file path is needed (memory databases cannot be shared by connections)")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	if o.Synchronous == "" {
		o.Synchronous = "FULL"
	}
	if o.Readers <= 0 {
		o.Readers = runtime.GOMAXPROCS(0)
	}
	w, err := sql.Open("sqlite", dsn(path, o.Synchronous, true))
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	w.SetMaxOpenConns(1)
	if err := pingPatiently(w); err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite %s: %w", path, err), w.Close())
	}
	r, err := sql.Open("sqlite", dsn(path, o.Synchronous, false))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite: %w", err), w.Close())
	}
	r.SetMaxOpenConns(o.Readers)
	r.SetMaxIdleConns(o.Readers)
	return &DB{W: w, R: r}, nil
}

// Close closes both pools.
func (db *DB) Close() error {
	return errors.Join(db.R.Close(), db.W.Close())
}

// dsn puts the pragmas into the name: they belong to a connection, and a pool
// opens connections when it likes. The timeout comes first, as the others may
// already have to wait.
func dsn(path, synchronous string, write bool) string {
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(" + synchronous + ")",
		"foreign_keys(1)",
		"temp_store(MEMORY)",
		"cache_size(-16000)",           // KiB a connection
		"journal_size_limit(67108864)", // bytes the log shrinks back to
	}
	q := url.Values{}
	if write {
		q.Set("_txlock", "immediate")
		// Checkpoint ten times more rarely than the default: each one stops the writer.
		pragmas = append(pragmas, "wal_autocheckpoint(10000)")
	} else {
		pragmas = append(pragmas, "query_only(1)")
	}
	q["_pragma"] = pragmas
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// pingPatiently opens the first connection. Several processes that start at
// once all switch the file to write-ahead logging, and SQLite does not wait
// its busy timeout there.
func pingPatiently(db *sql.DB) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := db.PingContext(context.Background())
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
