package authhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver of the database

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
	"lessonkit.example/auth/oauth"
	"lessonkit.example/auth/sqlstore"
	"lessonkit.example/internal/oauthtest"
)

// A server with the sign-in below /api/v1/auth and a page for those who are signed in, asked
// without a token and for a token. A program serves it with http.ListenAndServe, and calls
// service.Run.
func Example() {
	store, remove := exampleStore()
	defer remove()
	platform := authtest.StartPlatform() // instead of the real one
	defer platform.Close()
	exchanger, err := miniapp.New(miniapp.Config{
		AppID: platform.AppID, Secret: platform.Secret, Endpoint: platform.Endpoint(),
	})
	if err != nil {
		panic(err)
	}
	service, err := auth.New(auth.Config{Store: store, Exchanger: exchanger})
	if err != nil {
		panic(err)
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _ := authhttp.UserID(r.Context())
		fmt.Fprintf(w, "Good morning, %s!\n", user)
	})
	server := http.NewServeMux()
	server.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{Service: service}))
	server.Handle("/", authhttp.Middleware(service)(hello))

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

// A website: the browser signs in at an OAuth 2 server, with PKCE, and keeps its session in a
// cookie.
func ExampleOAuth() {
	campus := oauthtest.New() // instead of a real server, at which everybody is Anna
	defer campus.Close()
	campus.User = "Anna"
	store, remove := exampleStore()
	defer remove()

	mux := http.NewServeMux()
	site := httptest.NewTLSServer(mux)
	defer site.Close()
	campus.RedirectURL = site.URL + "/api/v1/auth/oauth/callback" // as it is registered there
	client, err := oauth.New(oauth.Config{
		ClientID: campus.ClientID, ClientSecret: campus.Secret, RedirectURL: campus.RedirectURL,
		AuthURL: campus.URL + "/authorize", TokenURL: campus.URL + "/token", UserInfoURL: campus.URL + "/userinfo",
	})
	if err != nil {
		panic(err)
	}
	service, err := auth.New(auth.Config{Store: store, Exchanger: client})
	if err != nil {
		panic(err)
	}
	cookie := &authhttp.Cookie{}
	mux.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{
		Service: service, Cookie: cookie, OAuth: &authhttp.OAuth{AuthCodeURL: client.AuthCodeURL, Page: "/hello"},
	}))
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, known := authhttp.UserID(r.Context())
		fmt.Fprintln(w, "Good morning,", known)
	})
	mux.Handle("/hello", cookie.Handler(authhttp.Middleware(service)(hello)))

	browser := site.Client()
	browser.Jar, _ = cookiejar.New(nil)
	for _, page := range []string{"GET /hello", "GET /api/v1/auth/oauth", "POST /api/v1/auth/logout", "GET /hello"} {
		method, path, _ := strings.Cut(page, " ")
		r, err := http.NewRequest(method, site.URL+path, nil)
		if err != nil {
			panic(err)
		}
		resp, err := browser.Do(r)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, resp.Request.URL.Path, strings.Contains(string(body), "Good morning"))
	}
	// Output:
	// 401 /hello false
	// 200 /hello true
	// 204 /api/v1/auth/logout false
	// 401 /hello false
}

// A page for people: who is not signed in is sent to the page with the sign-in, instead of a
// problem document.
func ExampleAuthenticate() {
	store, remove := exampleStore()
	defer remove()
	service, err := auth.New(auth.Config{Store: store})
	if err != nil {
		panic(err)
	}
	identify := authhttp.Authenticate(service)
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := identify(r.Context(), r.Header)
		var refused interface{ Permanent() bool }
		switch {
		case err == nil:
			fmt.Fprintln(w, "Good morning,", user)
		case errors.As(err, &refused) && refused.Permanent(): // 401
			http.Redirect(w, r, "/signin?back="+url.QueryEscape(r.URL.Path), http.StatusSeeOther)
		default: // such as a database that is down: nobody has to sign in again
			authhttp.Refuse(w, r, err)
		}
	})
	var session authhttp.Cookie
	answer := httptest.NewRecorder()
	session.Handler(page).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/lessons", nil))
	fmt.Println(answer.Code, answer.Header().Get("Location"))
	// Output:
	// 303 /signin?back=%2Flessons
}

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
