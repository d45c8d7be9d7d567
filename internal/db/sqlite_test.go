package db

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver
)

func openFile(t *testing.T, path string) *DB {
	db, err := OpenSQLite(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func open(t *testing.T) *DB {
	db := openFile(t, filepath.Join(t.TempDir(), "a dir", "what?.db"))
	_, err := db.W.Exec("create table n (v integer primary key) strict")
	require.NoError(t, err)
	return db
}

func values(t *testing.T, db *DB) (sum, count int) {
	require.NoError(t, db.R.QueryRow("select coalesce(sum(v), 0), count(*) from n").Scan(&sum, &count))
	return sum, count
}

func insert(v int) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec("insert into n values ($1)", v)
		return err
	}
}

func TestEveryConnectionHasThePragmas(t *testing.T) {
	t.Parallel()
	db := open(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "foreign_keys": "1", "synchronous": "2"} {
		for range 3 {
			var got string
			require.NoError(t, db.W.QueryRow("pragma "+pragma).Scan(&got))
			require.Equal(t, want, got, pragma)
			require.NoError(t, db.R.QueryRow("pragma "+pragma).Scan(&got))
			require.Equal(t, want, got, pragma)
		}
	}
	_, err := db.R.Exec("insert into n values (1)")
	require.Error(t, err, "readers refuse to write")
}

// TestReadersSeeWhatOthersChange writes, vacuums and truncates through another handle of the file,
// such as another process has, while a reader has mapped the file.
func TestReadersSeeWhatOthersChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	reader, other := openFile(t, path), openFile(t, path)
	var mapped int
	require.NoError(t, reader.R.QueryRow("pragma mmap_size").Scan(&mapped))
	require.Equal(t, 1<<30, mapped)
	_, err := other.W.Exec("create table n (v integer primary key, text text) strict")
	require.NoError(t, err)
	for range 3 {
		for _, statement := range []string{
			`insert into n (text) select printf('%.*c', 3000, 'x') from (
				with recursive i (n) as (select 1 union all select n + 1 from i where n < 500) select n from i)`,
			"pragma wal_checkpoint(truncate)",
		} {
			_, err = other.W.Exec(statement)
			require.NoError(t, err)
		}
		sum, count := values(t, reader)
		require.Equal(t, 500, count)
		require.Equal(t, 500*501/2, sum)
		for _, statement := range []string{"delete from n", "vacuum", "pragma wal_checkpoint(truncate)"} {
			_, err = other.W.Exec(statement)
			require.NoError(t, err)
		}
		_, count = values(t, reader)
		require.Zero(t, count)
	}
}

func TestEraseLogWaitsForReaders(t *testing.T) {
	t.Parallel()
	db := open(t)
	reader, err := db.R.Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow("select count(*) from n").Scan(&n))
	require.NoError(t, db.Update(t.Context(), func(_ context.Context, tx *sql.Tx) error { return insert(1)(tx) }))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, db.EraseLog(ctx), context.DeadlineExceeded)
	require.NoError(t, reader.Rollback())
	require.NoError(t, db.EraseLog(t.Context()))
	var path string
	require.NoError(t, db.R.QueryRow("select file from pragma_database_list").Scan(&path))
	log, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Zero(t, log.Size())
}

func TestFileIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	openFile(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestGroup(t *testing.T) {
	t.Parallel()

	t.Run("a failing caller loses its own work only", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		g := db.group
		own := errors.New("mine")
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				err := g.do(t.Context(), func(tx *sql.Tx) error {
					if err := insert(i)(tx); err != nil {
						return err
					}
					if i%2 == 1 {
						return own
					}
					return nil
				})
				if i%2 == 1 {
					require.ErrorIs(t, err, own)
				} else {
					require.NoError(t, err)
				}
			})
		}
		wg.Wait()
		_, count := values(t, db)
		require.Equal(t, 100, count)
	})

	t.Run("a lost transaction is run again for the others", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		g := db.group
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				err := g.do(t.Context(), func(tx *sql.Tx) error {
					if i%20 == 7 { // ends the whole transaction under everybody's feet
						tx.Exec("rollback")
						return errors.New("wrecked")
					}
					return insert(i)(tx)
				})
				require.Equal(t, i%20 == 7, err != nil, "caller %d: %v", i, err)
			})
		}
		wg.Wait()
		_, count := values(t, db)
		require.Equal(t, 190, count)
	})

	t.Run("a panic reaches its own caller", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		g := db.group
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				if i == 25 {
					require.PanicsWithValue(t, "boom", func() {
						g.do(t.Context(), func(*sql.Tx) error { panic("boom") })
					})
					return
				}
				require.NoError(t, g.do(t.Context(), insert(i)))
			})
		}
		wg.Wait()
		_, count := values(t, db)
		require.Equal(t, 49, count)
	})

	t.Run("a file that is locked is waited for once by all", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.db")
		other := openFile(t, path)
		w, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(500)&_txlock=immediate")
		require.NoError(t, err)
		defer w.Close()
		w.SetMaxOpenConns(1)
		tx, err := other.W.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		g := newGroup(w)
		begin := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				err := g.do(t.Context(), func(*sql.Tx) error { panic("not begun") })
				require.ErrorContains(t, err, "locked")
			})
		}
		wg.Wait()
		require.Less(t, time.Since(begin), 20*time.Second, "one after the other it is 25 s")
	})

	t.Run("a transaction of the program is not waited for without end", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db := open(t)
			tx, err := db.W.Begin()
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var wg sync.WaitGroup
			for i := range 3 {
				wg.Go(func() {
					err := db.group.do(ctx, insert(i))
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorContains(t, err, "a transaction of this program")
				})
			}
			wg.Wait()
			wg.Go(func() { require.NoError(t, db.group.do(t.Context(), insert(7))) })
			synctest.Wait()
			require.NoError(t, tx.Rollback())
			wg.Wait()
			sum, _ := values(t, db)
			require.Equal(t, 7, sum)
		})
	})

	t.Run("a caller that gave up before its turn changes nothing", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		g := db.group
		entered, leave := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			require.NoError(t, g.do(t.Context(), func(tx *sql.Tx) error {
				close(entered)
				<-leave
				return insert(1)(tx)
			}))
		})
		<-entered
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			require.ErrorIs(t, g.do(ctx, insert(2)), context.Canceled)
			close(leave)
		})
		cancel()
		wg.Wait()
		require.NoError(t, g.do(t.Context(), insert(3)))
		sum, _ := values(t, db)
		require.Equal(t, 4, sum)
	})
}
