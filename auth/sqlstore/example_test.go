package sqlstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver of the database

	"lessonkit.example/auth/sqlstore"
)

func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "auth")
	defer os.RemoveAll(dir)
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "auth.db")) // or postgres://…
	if err != nil {
		panic(err)
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		panic(err)
	}
	fmt.Println(store.Migrated(ctx))
	// Output: true <nil>
}
