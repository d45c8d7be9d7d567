package db

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

type migrating struct{}

// Migrating reports whether ctx belongs to a statement of [DB.Migrate], which may wait for other
// programs and then take long on large tables.
func Migrating(ctx context.Context) bool { return ctx.Value(migrating{}) != nil }

// Migrate applies the migrations that table does not list yet, oldest first, by goose under a lock
// that makes it safe for several programs to start at once. The files have names like
// 00100_name.sql and goose's annotations; each runs in its own transaction, unless it is annotated
// otherwise. Databases made before the first release have lower numbers, and are refused.
func (db *DB) Migrate(ctx context.Context, table string, files fs.FS) error {
	ctx = context.WithValue(ctx, migrating{}, true)
	err := db.migrate(ctx, table, files)
	// PostgreSQL's lock admits one program at a time. SQLite has no such lock, but a program that
	// loses the race leaves nothing behind: it tries again and finds the work done.
	for attempt := 1; attempt < 10 && db.Engine == SQLite && err != nil && !errors.Is(err, errUnreleased); attempt++ {
		if err := sleep(ctx, time.Duration(attempt)*10*time.Millisecond); err != nil {
			return err
		}
		err = db.migrate(ctx, table, files)
	}
	if err != nil {
		return fmt.Errorf("migrate %s: %w", table, err)
	}
	return nil
}

// Files returns the migrations of the engine, which are in the folder migrations/postgres or
// migrations/sqlite.
func (db *DB) Files(migrations fs.FS) fs.FS {
	files, err := fs.Sub(migrations, "migrations/"+string(db.Engine))
	if err != nil {
		panic(err) // only an invalid name is an error
	}
	return files
}

func (db *DB) migrate(ctx context.Context, table string, files fs.FS) error {
	if _, err := db.pending(ctx, table, files); err != nil {
		return err
	}
	options := []goose.ProviderOption{
		goose.WithTableName(table),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	}
	dialect := goose.DialectSQLite3
	if db.Engine == Postgres {
		dialect = goose.DialectPostgres
		// One lock for each table, which goose's other users in the database do not wait for.
		key := fnv.New64a()
		key.Write([]byte(table))
		// Every second for a day: another program may be changing large tables.
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(int64(key.Sum64())),
			lock.WithLockTimeout(1, 24*60*60))
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(dialect, db.W, files, options...)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// Migrated reports whether all migrations are applied. It changes nothing.
func (db *DB) Migrated(ctx context.Context, table string, files fs.FS) (bool, error) {
	pending, err := db.pending(ctx, table, files)
	if err != nil {
		return false, fmt.Errorf("check migrations of %s: %w", table, err)
	}
	return !pending, nil
}

var errUnreleased = errors.New("the tables were made by a version before the first release; " +
	"create the database anew")

// pending reports whether table does not list the newest migration. It reads the table itself
// because goose would create it.
func (db *DB) pending(ctx context.Context, table string, files fs.FS) (bool, error) {
	names, err := fs.Glob(files, "*.sql") // sorted
	if err != nil || len(names) == 0 {
		return false, errors.Join(err, errors.New("there are no migrations"))
	}
	oldest, err1 := goose.NumericComponent(names[0])
	newest, err2 := goose.NumericComponent(names[len(names)-1])
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	exists := "select to_regclass($1) is not null"
	if db.Engine == SQLite {
		exists = "select count(*) > 0 from sqlite_master where name = $1"
	}
	var found bool
	if err := db.R.QueryRowContext(ctx, exists, table).Scan(&found); err != nil || !found {
		return true, err
	}
	var unreleased, applied int64
	err = db.R.QueryRowContext(ctx, `
		select count(case when version_id > 0 and version_id < $1 then 1 end), coalesce(max(version_id), 0)
		from `+table, oldest).Scan(&unreleased, &applied)
	if err == nil && unreleased > 0 {
		err = errUnreleased
	}
	return applied < newest, err
}
