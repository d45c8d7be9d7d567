package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
)

const operatorPassword = "correct horse battery"

// request sends a request to the pages of the queue.
func request(s *server.Server, method, path string, header func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/admin/queue"+path, nil)
	r.Host = "localhost"
	header(r)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func basic(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// notOperators are headers without the operator's password.
var notOperators = map[string]func(*http.Request){
	"nothing":             func(*http.Request) {},
	"another password":    basic("operator", operatorPassword+"x"),
	"no password":         basic("operator", ""),
	"bearer token":        bearer(operatorPassword),
	"development sign-in": func(r *http.Request) { r.Header.Set("X-Development-User", "someone") },
}

func TestQueuePagesNeedTheOperatorsPassword(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, server.RoleAll, "OPERATOR_PASSWORD", operatorPassword)
	for name, header := range notOperators {
		for _, path := range []string{"/", "/jobs", "/jobs/1", "/other"} {
			w := request(s, http.MethodGet, path, header)
			require.Equal(t, http.StatusUnauthorized, w.Code, name)
			require.Contains(t, w.Header().Get("WWW-Authenticate"), "Basic ")
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		}
		require.Equal(t, http.StatusUnauthorized, request(s, http.MethodPost, "/jobs/1/retry", header).Code, name)
	}
	w := request(s, http.MethodGet, "/", basic("any name", operatorPassword))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
}

// requireSlowed requires that the right password no longer opens after wrong ones.
func requireSlowed(t *testing.T, opens func(password string) bool) {
	t.Helper()
	require.True(t, opens(operatorPassword))
	for range 100 { // which take less than the minutes in which so many are allowed
		require.False(t, opens(operatorPassword+"x"))
		if !opens(operatorPassword) {
			return
		}
	}
	require.Fail(t, "passwords can be guessed")
}

func TestWrongPasswordsAreSlowedAndLogged(t *testing.T) {
	t.Parallel()
	s, log := newLoggedServer(t, server.RoleAll, map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "OPERATOR_PASSWORD": operatorPassword,
	})
	for i, path := range []string{"/health", "/admin/queue/"} {
		guess := func(address, password string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.RemoteAddr = address + ":1000"
			r.SetBasicAuth("operator", password)
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			return w
		}
		opened := func(w *httptest.ResponseRecorder) bool {
			return w.Code == http.StatusOK && (path != "/health" || strings.Contains(w.Body.String(), "free_bytes"))
		}
		attacker := fmt.Sprintf("192.0.2.%d", i+1)
		requireSlowed(t, func(password string) bool { return opened(guess(attacker, password)) })
		require.True(t, opened(guess("198.51.100.1", operatorPassword)), "others are not locked out")
		lines := log.grep("wrong operator's password")
		require.Equal(t, attacker, lines[len(lines)-1]["client"])
		require.Equal(t, path, lines[len(lines)-1]["path"])
	}
	require.NotContains(t, log.String(), operatorPassword)
}

func TestNoQueuePagesWithoutAnOperatorsPassword(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, server.RoleAll)
	require.Equal(t, http.StatusNotFound, request(s, http.MethodGet, "/", basic("operator", "")).Code)

	worker := onSQLite(t, server.RoleWorker, "OPERATOR_PASSWORD", operatorPassword)
	signedIn := basic("operator", operatorPassword)
	require.Equal(t, http.StatusNotFound, request(worker, http.MethodGet, "/", signedIn).Code)

	_, err := server.ParseConfig(map[string]string{"OPERATOR_PASSWORD": "elevenchars"})
	require.ErrorContains(t, err, "OPERATOR_PASSWORD: must have at least 12 characters")
	require.NotContains(t, err.Error(), "elevenchars")
}

func TestOtherSitesCannotRetryJobs(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, server.RoleAll, "OPERATOR_PASSWORD", operatorPassword)
	for site, status := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 404} {
		w := request(s, http.MethodPost, "/jobs/999999/retry", func(r *http.Request) {
			r.SetBasicAuth("operator", operatorPassword)
			r.Header.Set("Sec-Fetch-Site", site)
		})
		require.Equal(t, status, w.Code, site)
	}
}
