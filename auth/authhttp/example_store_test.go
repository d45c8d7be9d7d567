package authhttp_test

import (
	"context"
	"os"
	"path/filepath"

	"lessonkit.example/auth"
	"lessonkit.example/auth/sqlstore"
)

// exampleStore opens a store in a temporary file, and returns what removes it.
func exampleStore() (auth.Store, func()) {
	dir, err := os.MkdirTemp("", "auth")
	if err != nil {
		panic(err)
	}
	store, err := sqlstore.Open(context.Background(), "sqlite:"+filepath.Join(dir, "auth.db"))
	if err != nil {
		panic(err)
	}
	if err := store.Migrate(context.Background()); err != nil {
		panic(err)
	}
	return store, func() {
		store.Close()
		os.RemoveAll(dir)
	}
}
