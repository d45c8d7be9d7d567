package authhttp_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
	"lessonkit.example/auth/sqlstore"
	"lessonkit.example/internal/httpapi/apitest"
	"lessonkit.example/internal/logtest"
	"lessonkit.example/internal/testclock"
)

// bench is a server on the embedded engine and a fake platform, with a clock of
// its own.
type bench struct {
	platform *authtest.Platform
	store    *sqlstore.Store
	service  *auth.Service
	handler  http.Handler
	log      *logtest.Buffer

	clock *testclock.Clock
}

type options struct {
	auth func(*auth.Config)
	http func(*authhttp.Config)
}

func setup(t *testing.T, o options) *bench {
	t.Helper()
	b := &bench{platform: authtest.NewPlatform(t), clock: testclock.New(time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)),
		log: &logtest.Buffer{}}
	var err error
	b.store, err = sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "auth.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.store.Close()) })
	require.NoError(t, b.store.Migrate(t.Context()))
	exchanger, err := miniapp.New(miniapp.Config{AppID: b.platform.AppID, Secret: b.platform.Secret,
		Endpoint: b.platform.Endpoint()})
	require.NoError(t, err)
	c := auth.Config{
		Store: b.store, Exchanger: exchanger, Now: b.clock.Now,
		Logger: slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if o.auth != nil {
		o.auth(&c)
	}
	b.service, err = auth.New(c)
	require.NoError(t, err)
	h := authhttp.Config{Service: b.service, Now: b.clock.Now, LoginsPerMinute: -1, Logger: c.Logger}
	if o.http != nil {
		o.http(&h)
	}
	b.handler = authhttp.Handler(h)
	return b
}

// reply is an answer with its body read as JSON, where it is some.
type reply struct {
	*http.Response
	text string
	json map[string]any
}

func do(t *testing.T, h http.Handler, method, path, body string, header ...string) reply {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	out := reply{Response: w.Result(), text: w.Body.String()}
	documented := authhttp.Config{Cookie: &authhttp.Cookie{}, Devices: true}
	apitest.Parse(t, document(t, documented)).Check(t, r, out.StatusCode, out.Header)
	if strings.Contains(out.Header.Get("Content-Type"), "json") {
		require.NoError(t, json.Unmarshal([]byte(out.text), &out.json), out.text)
	}
	return out
}

const (
	loginPath  = "/api/v1/auth/miniapp/login"
	mePath     = "/api/v1/auth/me"
	logoutPath = "/api/v1/auth/logout"
)

func (b *bench) login(t *testing.T, code string, header ...string) reply {
	t.Helper()
	return do(t, b.handler, http.MethodPost, loginPath, `{"code":"`+code+`"}`, header...)
}

// signIn signs a user in and returns the token.
func (b *bench) signIn(t *testing.T, openID string) string {
	t.Helper()
	r := b.login(t, b.platform.Code(authtest.User{OpenID: openID}))
	require.Equal(t, http.StatusOK, r.StatusCode, r.text)
	return r.json["token"].(string)
}

func (b *bench) logout(t *testing.T, token string) {
	t.Helper()
	out := do(t, b.handler, http.MethodPost, logoutPath, "", "Authorization", "Bearer "+token)
	require.Equal(t, http.StatusNoContent, out.StatusCode, out.text)
	require.Empty(t, out.text)
}

func (b *bench) me(t *testing.T, token string) reply {
	t.Helper()
	return do(t, b.handler, http.MethodGet, mePath, "", "Authorization", "Bearer "+token)
}

// problem requires that r is a problem document with the given status and code.
func (r reply) problem(t *testing.T, status int, code string) {
	t.Helper()
	require.Equal(t, status, r.StatusCode, r.text)
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
	require.Equal(t, code, r.json["code"], r.text)
	require.InDelta(t, status, r.json["status"], 0)
	if status == http.StatusUnauthorized {
		require.Contains(t, r.Header.Get("WWW-Authenticate"), "Bearer")
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		require.NotEmpty(t, r.Header.Get("Retry-After"))
	}
}

// notReached is a handler behind a middleware that must not let the request in.
func notReached(t *testing.T) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("let in") })
}
