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

// The outbox inserts tasks into a queue's table within the given transaction, so that a row and its
// task are stored together or not at all.
func Example() {
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
