package auth_test

import (
	"context"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver of the database

	"lessonkit.example/auth"
	"lessonkit.example/auth/sqlstore"
)

// exampleStore opens a store in a temporary file, and returns what removes it.
func exampleStore() (auth.Store, func()) {
	dir, err := os.MkdirTemp("", "auth")
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "auth.db"))
	if err != nil {
		panic(err)
	}
	if err := store.Migrate(ctx); err != nil {
		panic(err)
	}
	return store, func() {
		store.Close()
		os.RemoveAll(dir)
	}
}
