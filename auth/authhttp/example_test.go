package authhttp_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver of the database

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
	"lessonkit.example/auth/sqlstore"
)

// signInServer is a whole server: sign-in below /api/v1/auth, and a page for
// those who are signed in. A program serves it with http.ListenAndServe.
func signInServer(ctx context.Context, database string, platform miniapp.Config) (http.Handler, error) {
	store, err := sqlstore.Open(ctx, database)
	if err != nil {
		return nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	exchanger, err := miniapp.New(platform)
	if err != nil {
		return nil, err
	}
	service, err := auth.New(auth.Config{Store: store, Exchanger: exchanger})
	if err != nil {
		return nil, err
	}
	go service.Run(ctx) // housekeeping

	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _ := authhttp.UserID(r.Context())
		fmt.Fprintf(w, "Good morning, %s!\n", user)
	})
	mux := http.NewServeMux()
	mux.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{Service: service}))
	mux.Handle("/", authhttp.Middleware(service)(hello))
	return mux, nil
}

// A complete server, asked without a token and for a token.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, _ := os.MkdirTemp("", "auth")
	defer os.RemoveAll(dir)
	platform := authtest.StartPlatform() // instead of the real one
	defer platform.Close()

	server, err := signInServer(ctx, "sqlite:"+filepath.Join(dir, "auth.db"), miniapp.Config{
		AppID: platform.AppID, Secret: platform.Secret, Endpoint: platform.Endpoint(),
	})
	if err != nil {
		panic(err)
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(answer.Code)

	code := platform.Code(authtest.User{OpenID: "o-1"})
	request := httptest.NewRequest(http.MethodPost, "/api/v1/auth/miniapp/login",
		strings.NewReader(`{"code":"`+code+`"}`))
	request.Header.Set("Content-Type", "application/json")
	answer = httptest.NewRecorder()
	server.ServeHTTP(answer, request)
	fmt.Println(answer.Code, bytes.Contains(answer.Body.Bytes(), []byte(`"token":"mps_`)))
	// Output:
	// 401
	// 200 true
}
