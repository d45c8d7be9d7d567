package authhttp_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
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
	"sync"
	"testing"

	"golang.org/x/oauth2"
	_ "modernc.org/sqlite" // the driver of the database

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/sqlstore"
)

// OAuth2 is an auth.Exchanger for a server of OAuth 2 with PKCE. The codes that it takes are a
// verifier, a space and the server's code.
type OAuth2 struct {
	Config   oauth2.Config // with an AuthStyle: without one, a code may be sent twice
	UserInfo string        // the address that returns the user
}

// Exchange implements auth.Exchanger. Errors of x/oauth2 contain what the server answered, which
// may be anything, so only the error code of the protocol is kept.
func (o *OAuth2) Exchange(ctx context.Context, verifierAndCode string) (auth.Identity, error) {
	if verifierAndCode == "" {
		return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrCodeMissing}
	}
	verifier, code, _ := strings.Cut(verifierAndCode, " ")
	token, err := o.Config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return auth.Identity{}, o.refusal(ctx, err)
	}
	resp, err := o.Config.Client(ctx, token).Get(o.UserInfo)
	if err != nil {
		return auth.Identity{}, o.refusal(ctx, err)
	}
	defer resp.Body.Close()
	var user struct{ Sub, Name, Picture string }
	err = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&user)
	if err != nil || resp.StatusCode != http.StatusOK || user.Sub == "" {
		return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrPlatform, Message: "no user"}
	}
	return auth.Identity{
		Platform: "campus", AppID: o.Config.ClientID, Subject: user.Sub, Name: user.Name, Picture: user.Picture,
	}, nil
}

func (o *OAuth2) refusal(ctx context.Context, err error) error {
	e := &auth.ExchangeError{Kind: auth.ErrPlatform}
	var answer *oauth2.RetrieveError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &answer):
	case answer.ErrorCode == "invalid_grant":
		e.Kind, e.PlatformCode = auth.ErrCodeRejected, answer.ErrorCode
	case answer.ErrorCode == "invalid_client", answer.ErrorCode == "unauthorized_client":
		e.Kind, e.PlatformCode = auth.ErrMisconfigured, answer.ErrorCode
	}
	return e
}

// webSignIn is a website with the sign-in of an OAuth 2 server. GET /signin sends the browser
// there, /callback is where it comes back.
func webSignIn(service *auth.Service, config *oauth2.Config) http.Handler {
	var session authhttp.Cookie
	attempts := authhttp.NewLimiter(authhttp.Config{}) // with TrustedProxies behind a proxy
	const pending = "__Host-oauth2"                    // the cookie of a sign-in that has begun
	mux := http.NewServeMux()
	mux.HandleFunc("GET /signin", func(w http.ResponseWriter, r *http.Request) {
		state, verifier := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
		http.SetCookie(w, &http.Cookie{
			Name: pending, Value: state + "." + verifier, Path: "/", MaxAge: 600,
			Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
		http.Redirect(w, r, config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), http.StatusSeeOther)
	})
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie(pending)
		if err != nil || !strings.HasPrefix(cookie.Value, r.FormValue("state")+".") {
			authhttp.Refuse(w, r, auth.ErrCodeRejected) // not the browser that began
			return
		}
		http.SetCookie(w, &http.Cookie{ // it is used once
			Name: pending, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
		switch r.FormValue("error") {
		case "":
		case "access_denied":
			http.Error(w, "You did not allow the sign-in.", http.StatusForbidden)
			return
		default:
			authhttp.Refuse(w, r, &auth.ExchangeError{Kind: auth.ErrPlatform})
			return
		}
		_, verifier, _ := strings.Cut(cookie.Value, ".")
		login, err := attempts.Login(r, service, verifier+" "+r.FormValue("code"))
		if err != nil {
			authhttp.Refuse(w, r, err)
			return
		}
		session.Set(w, login)
		http.Redirect(w, r, "/hello/"+login.Identity.Name, http.StatusSeeOther)
	})
	mux.HandleFunc("POST /signout", func(w http.ResponseWriter, r *http.Request) {
		if err := service.Logout(r.Context(), session.Token(r)); err != nil {
			authhttp.Refuse(w, r, err)
			return
		}
		session.Clear(w)
		http.Redirect(w, r, "/hello/nobody", http.StatusSeeOther)
	})
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Good morning,", r.PathValue("name"))
	})
	mux.Handle("/hello/{name}", authhttp.Middleware(service)(hello))
	mux.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{Service: service, Cookie: &session}))
	return session.Handler(mux)
}

// A website: the browser signs in at an OAuth 2 server, with PKCE, and keeps its session in a
// cookie.
func ExampleCookie() {
	campus := startCampus() // instead of a real OAuth 2 server
	defer campus.Close()
	store, remove := exampleStore()
	defer remove()
	exchanger := campus.exchanger()
	service, err := auth.New(auth.Config{Store: store, Exchanger: exchanger})
	if err != nil {
		panic(err)
	}
	site := httptest.NewTLSServer(webSignIn(service, &exchanger.Config))
	defer site.Close()
	exchanger.Config.RedirectURL = site.URL + "/callback"

	browser := site.Client()
	browser.Jar, _ = cookiejar.New(nil)
	for _, page := range []string{"GET /hello/nobody", "GET /signin", "GET /api/v1/auth/me", "POST /signout"} {
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
		fmt.Println(resp.StatusCode, resp.Request.URL.Path, strings.Contains(string(body), "Anna"))
	}
	// Output:
	// 401 /hello/nobody false
	// 200 /hello/Anna true
	// 200 /api/v1/auth/me false
	// 401 /hello/nobody false
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

// campus is an OAuth 2 server at which everybody is Anna, unless a code was issued for somebody
// else.
type campus struct {
	*httptest.Server
	secret string

	mu    sync.Mutex
	codes map[string][2]string // the challenge and the user of a code
	mood  http.HandlerFunc
}

func startCampus() *campus {
	c := &campus{secret: rand.Text(), codes: map[string][2]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		code := c.issue(r.FormValue("code_challenge"), "Anna")
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?state="+r.FormValue("state")+"&code="+code, http.StatusFound)
	})
	mux.HandleFunc("POST /token", c.token)
	mux.HandleFunc("/userinfo", func(w http.ResponseWriter, r *http.Request) {
		user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		_ = json.NewEncoder(w).Encode(map[string]string{"sub": "u-" + user, "name": user})
	})
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		mood := c.mood
		c.mu.Unlock()
		if mood == nil {
			mood = mux.ServeHTTP
		}
		mood(w, r)
	}))
	return c
}

func (c *campus) issue(challenge, user string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	code := "4/" + rand.Text()
	c.codes[code] = [2]string{challenge, user}
	return code
}

func (c *campus) token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, secret, _ := r.BasicAuth()
	c.mu.Lock()
	defer c.mu.Unlock()
	issued, known := c.codes[r.FormValue("code")]
	delete(c.codes, r.FormValue("code"))
	switch {
	case secret != c.secret:
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
	case !known || oauth2.S256ChallengeFromVerifier(r.FormValue("code_verifier")) != issued[0]:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":"invalid_grant","error_description":%q}`, r.Form.Encode())
	default:
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": issued[1], "token_type": "Bearer"})
	}
}

func (c *campus) exchanger() *OAuth2 {
	return &OAuth2{UserInfo: c.URL + "/userinfo", Config: oauth2.Config{
		ClientID: "lessons", ClientSecret: c.secret, Endpoint: oauth2.Endpoint{
			AuthURL: c.URL + "/authorize", TokenURL: c.URL + "/token", AuthStyle: oauth2.AuthStyleInHeader,
		},
	}}
}

func (c *campus) behave(mood http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mood = mood
}

func TestOAuth2IsAnExchanger(t *testing.T) {
	t.Parallel()
	authtest.ExchangerSuite(t, func(t *testing.T) authtest.ExchangerTarget {
		c := startCampus()
		t.Cleanup(func() {
			c.CloseClientConnections()
			c.Close()
		})
		return authtest.ExchangerTarget{
			Exchanger: c.exchanger(),
			Code: func(user string) string {
				verifier := oauth2.GenerateVerifier()
				return verifier + " " + c.issue(oauth2.S256ChallengeFromVerifier(verifier), user)
			},
			Behave:  c.behave,
			Secrets: []string{c.secret},
		}
	})
}
