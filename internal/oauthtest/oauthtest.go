// Package oauthtest is an OAuth 2 server for tests. It does what RFC 6749 and RFC 7636 ask of a
// server, and refuses what they let it refuse.
package oauthtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Server is an OAuth 2 server with one client, whose redirect URI is set before its first use.
type Server struct {
	*httptest.Server
	ClientID, Secret, RedirectURL string

	// User signs in without being asked; if empty, a page asks who it is.
	User string

	mu     sync.Mutex
	codes  map[string]issued
	tokens map[string]string // users, by access token
	mood   http.HandlerFunc
}

type issued struct {
	challenge, user string
	token           string // that it was exchanged for
}

// New starts a server, which the caller closes.
func New() *Server {
	s := &Server{ClientID: "lessons", Secret: "s e:c+r/e%t", codes: map[string]issued{}, tokens: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("GET /userinfo", s.userInfo)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		mood := s.mood
		s.mu.Unlock()
		if mood == nil {
			mood = mux.ServeHTTP
		}
		mood(w, r)
	}))
	return s
}

// Behave makes the server answer every request by h; nil restores it.
func (s *Server) Behave(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mood = h
}

// Issue returns a code for a user who was sent here with a challenge.
func (s *Server) Issue(challenge, user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := "4/" + rand.Text()
	s.codes[code] = issued{challenge: challenge, user: user}
	return code
}

// Challenge returns the challenge of a verifier.
func Challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != s.ClientID || q.Get("redirect_uri") != s.RedirectURL {
		http.Error(w, "an unknown client or redirect URI", http.StatusBadRequest) // section 3.1.2.4: no redirect
		return
	}
	answer := url.Values{"state": {q.Get("state")}, "iss": {s.URL}}
	user := s.User
	if u := q.Get("user"); u != "" {
		user = u
	}
	switch {
	case q.Get("response_type") != "code":
		answer.Set("error", "unsupported_response_type")
	case !slices.Contains(strings.Fields(q.Get("scope")), "openid"):
		answer.Set("error", "invalid_scope")
	case len(q.Get("state")) < 22 || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		answer.Set("error", "invalid_request")
	case q.Get("deny") != "":
		answer.Set("error", q.Get("deny"))
	case user == "":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>Campus</title><h1>Campus</h1><form>`)
		for name := range q {
			fmt.Fprintf(w, `<input type="hidden" name="%s" value="%s">`, name, html.EscapeString(q.Get(name)))
		}
		fmt.Fprint(w, `<button name="user" value="Anna">I am Anna</button> `+
			`<button name="user" value="Ben">I am Ben</button> `+
			`<button name="deny" value="access_denied">Cancel</button></form>`)
		return
	default:
		answer.Set("code", s.Issue(q.Get("code_challenge"), user))
	}
	http.Redirect(w, r, s.RedirectURL+"?"+answer.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": r.Form.Encode()})
	}
	id, secret, _ := r.BasicAuth() // both are form-urlencoded (section 2.3.1)
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	code, known := s.codes[r.PostFormValue("code")]
	switch {
	case id != s.ClientID || secret != s.Secret:
		w.Header().Set("WWW-Authenticate", "Basic")
		refuse(http.StatusUnauthorized, "invalid_client")
	case r.PostFormValue("grant_type") != "authorization_code" || r.URL.RawQuery != "":
		refuse(http.StatusBadRequest, "invalid_request")
	case code.token != "": // section 4.1.2: what a code that is used twice has led to is revoked
		delete(s.tokens, code.token)
		refuse(http.StatusBadRequest, "invalid_grant")
	case !known || r.PostFormValue("redirect_uri") != s.RedirectURL || len(r.PostFormValue("code_verifier")) < 43 ||
		Challenge(r.PostFormValue("code_verifier")) != code.challenge:
		refuse(http.StatusBadRequest, "invalid_grant")
	default:
		code.token = rand.Text()
		s.codes[r.PostFormValue("code")], s.tokens[code.token] = code, code.user
		_ = json.NewEncoder(w).Encode(map[string]any{
			"access_token": code.token, "token_type": "Bearer", "expires_in": 60,
		})
	}
}

func (s *Server) userInfo(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, known := s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !known {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"sub": "u-" + user})
}
