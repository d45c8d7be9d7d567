package db

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

// OpenSQLite opens the file at path. If it does not exist, it is created, readable by its owner
// only, with its directory. Every commit survives a power cut. trace may be nil.
func OpenSQLite(path string, trace Trace) (*DB, error) {
	if path == "" || path == ":memory:" {
		return nil,
			errors.New("open sqlite: the path of a file is required (connections cannot share a memory database)")
	}
	registered, err := sql.Open("sqlite", "")
	if err != nil {
		return nil, fmt.Errorf("open sqlite: the program must import _ \"modernc.org/sqlite\": %w", err)
	}
	defer registered.Close() // it has no connection
	if err := createFile(path); err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	w := sql.OpenDB(connector{driver: registered.Driver(), name: dsn(path, true), trace: trace, writes: true})
	w.SetMaxOpenConns(1)
	if err := pingUntilFree(w); err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite %s: %w", path, err), w.Close())
	}
	r := sql.OpenDB(connector{driver: registered.Driver(), name: dsn(path, false), trace: trace})
	// More readers only compete for the processors, and each costs a page cache. One that reads for
	// seconds must not be the only one.
	readers := max(2, runtime.GOMAXPROCS(0))
	r.SetMaxOpenConns(readers)
	r.SetMaxIdleConns(readers)
	db := FromSQLite(w, r)
	db.opened = true
	return db, nil
}

func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn returns a name with the pragmas in it: they apply to a connection, and a pool opens
// connections at any time.
func dsn(path string, writes bool) string {
	pragmas := []string{
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"temp_store(MEMORY)",
		"cache_size(-16000)",           // KiB a connection
		"journal_size_limit(67108864)", // bytes the log shrinks back to
	}
	q := url.Values{}
	if writes {
		q.Set("_txlock", "immediate")
		pragmas = append(pragmas,
			"busy_timeout(0)",           // see conn.wait
			"secure_delete(1)",          // what is deleted is overwritten: see EraseLog
			"wal_autocheckpoint(10000)") // a tenth as many as by default: each one stops the writer
	} else {
		// Mapped pages are read without copying them, and without SQLite's page cache, whose lock
		// all connections share. An unreadable sector of the disk then ends the process.
		pragmas = append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
			"query_only(1)", "mmap_size(1073741824)")
	}
	q["_pragma"] = pragmas
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// pingUntilFree opens the first connection. Processes that start at the same time all switch the
// file to write-ahead logging, for which SQLite does not wait its busy timeout.
func pingUntilFree(w *sql.DB) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := w.PingContext(context.Background())
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// eraseTimeout is how long EraseLog waits for readers: longer than a search of records may take.
const eraseTimeout = 5 * time.Second

// EraseLog empties the write-ahead log of an SQLite file that [OpenSQLite] has opened: nothing that
// was deleted before is in its files any more. It fails while others read what is older. On
// PostgreSQL it does nothing.
func (db *DB) EraseLog(ctx context.Context) error {
	if db.Engine == Postgres {
		return nil
	}
	for late := time.Now().Add(eraseTimeout); ; {
		var busy, log, moved int
		err := db.W.QueryRowContext(ctx, "pragma wal_checkpoint(truncate)").Scan(&busy, &log, &moved)
		if err != nil || busy == 0 {
			return err
		}
		if time.Now().After(late) {
			return errors.New("erase the log of the database: others still read from it")
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// connector opens connections of a file.
type connector struct {
	driver driver.Driver
	name   string // of the data source
	trace  Trace
	writes bool
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	opened, err := c.driver.Open(c.name)
	if err != nil {
		return nil, err
	}
	full, ok := opened.(sqliteConn)
	if !ok {
		opened.Close()
		return nil, fmt.Errorf("the driver has connections of type %T", opened)
	}
	return &conn{sqliteConn: full, kept: map[string]sqliteStmt{}, trace: c.trace, writes: c.writes}, nil
}
