// Package sqlitedb opens the embedded SQLite engine as a server needs it: one connection that
// writes, several that read, durable commits, and concurrent small writes in one transaction
// ([Group]).
package sqlitedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// DB is a database file that is opened twice. W writes; it has a single connection and takes the
// write lock when a transaction begins, so that a transaction which has read does not fail at its
// first write. R has GOMAXPROCS connections and rejects writes.
//
// Never use W inside a transaction of W: there is no second connection.
type DB struct {
	W, R *sql.DB
}

// busyTimeout is how long a connection waits while others write.
const busyTimeout = 10 * time.Second

// Open opens the file at path. If it does not exist, it is created, readable by its owner only,
// with its directory. Every commit survives a power cut.
func Open(path string) (*DB, error) { return OpenWith(path, nil, nil) }

// Connector returns a connector of a driver's data source, which may open other connections or
// observe them.
type Connector func(d driver.Driver, name string) driver.Connector

// OpenWith is like [Open], with the connections of write and of read, unless they are nil.
func OpenWith(path string, write, read Connector) (*DB, error) {
	if path == "" || path == ":memory:" {
		return nil,
			errors.New("open sqlite: the path of a file is required (connections cannot share a memory database)")
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
	w, err := openPool(dsn(path, true), func(d driver.Driver, name string) driver.Connector {
		d = writeDriver{d}
		if write == nil {
			return connector{d, name}
		}
		return write(d, name)
	})
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	w.SetMaxOpenConns(1)
	if err := pingUntilFree(w); err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite %s: %w", path, err), w.Close())
	}
	r, err := openPool(dsn(path, false), read)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite: %w", err), w.Close())
	}
	// More readers only compete for the processors, and each costs a page cache.
	r.SetMaxOpenConns(runtime.GOMAXPROCS(0))
	r.SetMaxIdleConns(runtime.GOMAXPROCS(0))
	return &DB{W: w, R: r}, nil
}

func openPool(name string, connector Connector) (*sql.DB, error) {
	db, err := sql.Open("sqlite", name)
	if err != nil || connector == nil {
		return db, err
	}
	defer db.Close() // it has no connection
	return sql.OpenDB(connector(db.Driver(), name)), nil
}

// Close closes both pools.
func (db *DB) Close() error {
	return errors.Join(db.R.Close(), db.W.Close())
}

// dsn returns a name with the pragmas in it: they apply to a connection, and a pool opens
// connections at any time. The timeout is first because the others may have to wait.
func dsn(path string, write bool) string {
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"temp_store(MEMORY)",
		"cache_size(-16000)",           // KiB a connection
		"journal_size_limit(67108864)", // bytes the log shrinks back to
	}
	q := url.Values{}
	if write {
		q.Set("_txlock", "immediate")
		// A tenth as many checkpoints as by default: each one stops the writer.
		pragmas = append(pragmas, "wal_autocheckpoint(10000)")
	} else {
		// Mapped pages are read without copying them, and without SQLite's page cache, whose lock
		// all connections share. An unreadable sector of the disk then ends the process.
		pragmas = append(pragmas, "query_only(1)", "mmap_size(1073741824)")
	}
	q["_pragma"] = pragmas
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// pingUntilFree opens the first connection. Processes that start at the same time all switch the
// file to write-ahead logging, for which SQLite does not wait its busy timeout.
func pingUntilFree(db *sql.DB) error {
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
	const busy = 5                // SQLITE_BUSY
	var e interface{ Code() int } // of the driver
	return errors.As(err, &e) && e.Code()&0xff == busy
}
