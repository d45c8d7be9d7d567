package auth_test

import (
	"context"
	"fmt"
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

// A sign-in at a platform of one's own, a request with its token, and the end of all sessions.
func Example() {
	store, remove := exampleStore()
	defer remove()
	service, err := auth.New(auth.Config{Store: store, Exchanger: campus{}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	login, err := service.Login(ctx, "good")
	if err != nil {
		panic(err)
	}
	who, err := service.Authenticate(ctx, login.Token)
	fmt.Println(who.UserID == login.UserID, who.Method, err)

	fmt.Println(service.LogoutAll(ctx, who.UserID))
	_, err = service.Authenticate(ctx, login.Token)
	fmt.Println(err)
	// Output:
	// true session <nil>
	// <nil>
	// session token is not valid
}

// campus implements [auth.Exchanger].
type campus struct{}

func (campus) Exchange(_ context.Context, code string) (auth.Identity, error) {
	if code != "good" {
		return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrCodeRejected}
	}
	return auth.Identity{Platform: "campus", Subject: "anna"}, nil
}
