package sqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver of the database

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/sqlstore"
)

// A program stores rows of its own and the feedback service's in one file. The pools that one call
// opens are for both.
func ExampleOpenSQLite() {
	dir, err := os.MkdirTemp("", "feedback")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write, read, err := sqlstore.OpenSQLite(filepath.Join(dir, "school.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	ctx := context.Background()
	store := sqlstore.NewSQLite(write, read, nil) // without recordings, no outbox is needed
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	tx, err := write.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() // without effect after the commit
	if _, err := tx.ExecContext(ctx, `create table invoices (profile_id text, amount integer)`); err != nil {
		log.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, `insert into invoices values ('ming', 90)`); err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	var amount int
	err = read.QueryRowContext(ctx, `select amount from invoices`).Scan(&amount)
	fmt.Println(amount, err)
	// Output: 90 <nil>
}

// The outbox inserts tasks into a queue's table within the given transaction, so that a row and its
// task are stored together or not at all.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "feedback")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	outbox := func(ctx context.Context, tx *sql.Tx, t feedback.Task) error {
		args, err := json.Marshal(t)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `insert into jobs (kind, args) values ($1, $2)`, string(t.Kind), string(args))
		return err
	}
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "feedback.db"), outbox) // or postgres://…
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Migrated(ctx))
	// Output: true <nil>
}
