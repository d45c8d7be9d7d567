package authhttp_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
)

func TestSignInWhoAmISignOut(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	in := b.login(t, b.platform.Code(authtest.User{OpenID: "anna", UnionID: "union"}))
	require.Equal(t, http.StatusOK, in.StatusCode, in.text)
	require.Equal(t, "no-store", in.Header.Get("Cache-Control"))
	require.Equal(t, "Bearer", in.json["token_type"])
	require.Equal(t, "2026-06-05T07:08:09Z", in.json["expires_at"])
	require.Len(t, in.json, 4)
	token := in.json["token"].(string)

	me := b.me(t, token)
	require.Equal(t, http.StatusOK, me.StatusCode)
	require.Equal(t, map[string]any{
		"teacher_id": in.json["teacher_id"],
		"method":     "session",
		"session":    map[string]any{"created_at": "2026-05-06T07:08:09Z", "expires_at": "2026-06-05T07:08:09Z"},
	}, me.json)

	b.logout(t, token)
	b.me(t, token).problem(t, http.StatusUnauthorized, "token_invalid")
	do(t, b.handler, http.MethodPost, logoutPath, "", "Authorization", "Bearer "+token).problem(t,
		http.StatusUnauthorized, "token_invalid")
}

func TestSessionEndsAfterThirtyDaysHoweverMuchUsed(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	token := b.signIn(t, "anna")
	for range 29 {
		b.clock.Add(24 * time.Hour)
		require.Equal(t, http.StatusOK, b.me(t, token).StatusCode)
	}
	b.clock.Add(24*time.Hour - time.Microsecond)
	require.Equal(t, http.StatusOK, b.me(t, token).StatusCode)
	b.clock.Add(time.Microsecond)
	b.me(t, token).problem(t, http.StatusUnauthorized, "token_invalid")
}

func TestRefusedTokensLookTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	expired, revoked := b.signIn(t, "anna"), b.signIn(t, "ben")
	b.logout(t, revoked)
	b.clock.Add(30 * 24 * time.Hour)
	unknown := b.signIn(t, "carl")
	b.logout(t, unknown)
	var bodies []map[string]any
	for _, token := range []string{expired, revoked, unknown, "x", expired + "x", "mps_"} {
		r := b.me(t, token)
		r.problem(t, http.StatusUnauthorized, "token_invalid")
		require.Equal(t, `Bearer error="invalid_token"`, r.Header.Get("WWW-Authenticate"))
		delete(r.json, "instance") // the request's own id
		bodies = append(bodies, r.json)
	}
	for _, body := range bodies {
		require.Equal(t, bodies[0], body)
	}
	for _, none := range []reply{do(t, b.handler, http.MethodGet, mePath, ""), b.me(t, "")} {
		none.problem(t, http.StatusUnauthorized, "token_missing")
		require.Equal(t, "Bearer", none.Header.Get("WWW-Authenticate"))
	}
}

func TestWithoutDatabaseEverythingIs503(t *testing.T) {
	t.Parallel()
	h := authhttp.Handler(authhttp.Config{})
	for _, token := range []string{"", "Bearer nonsense"} {
		for _, call := range [][3]string{
			{http.MethodPost, loginPath, `{"code":"abc"}`},
			{http.MethodPost, loginPath, `not JSON`},
			{http.MethodGet, mePath, ""},
			{http.MethodPost, logoutPath, ""},
		} {
			do(t, h, call[0], call[1], call[2], "Authorization", token).problem(t, http.StatusServiceUnavailable,
				"database_not_configured")
		}
	}
	guarded := authhttp.Middleware(nil)(notReached(t))
	do(t, guarded, http.MethodGet, "/", "").problem(t, http.StatusServiceUnavailable, "database_not_configured")
}

func TestLostDatabaseIs503(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	token := b.signIn(t, "anna")
	require.NoError(t, b.store.Close())
	b.me(t, token).problem(t, http.StatusServiceUnavailable, "database_unavailable")
	code := b.platform.Code(authtest.User{OpenID: "anna"})
	b.login(t, code).problem(t, http.StatusServiceUnavailable, "database_unavailable")
	require.Zero(t, b.platform.Seen(code), "the code was spent for nothing")
	require.Contains(t, b.log.String(), "session store failed")
}

func TestMiddlewareGivesTheUser(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	token := b.signIn(t, "anna")
	want := b.me(t, token).json["teacher_id"]
	guarded := authhttp.Middleware(b.service)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, ok := authhttp.UserID(r.Context())
		require.True(t, ok)
		require.Equal(t, want, id.String())
		w.WriteHeader(http.StatusTeapot)
	}))
	let := do(t, guarded, http.MethodGet, "/", "", "Authorization", "Bearer "+token)
	require.Equal(t, http.StatusTeapot, let.StatusCode)
}

func TestDevelopmentHeader(t *testing.T) {
	t.Parallel()
	b := setup(t, options{auth: func(c *auth.Config) { c.AllowDevelopment = true }})
	require.True(t, b.service.DevelopmentEnabled())
	require.Contains(t, b.log.String(), "DEVELOPMENT SIGN-IN IS ON")
	const name = "X-Development-User"
	who := func(header ...string) reply { return do(t, b.handler, http.MethodGet, mePath, "", header...) }

	anna := who(name, "anna")
	require.Equal(t, http.StatusOK, anna.StatusCode)
	require.Equal(t, "development", anna.json["method"])
	require.Nil(t, anna.json["session"])
	require.Contains(t, anna.json, "session")
	require.Equal(t, anna.json, who(name, "anna").json, "each name is its own stable user")
	require.NotEqual(t, anna.json["teacher_id"], who(name, "Anna").json["teacher_id"])
	token := b.signIn(t, "anna")
	require.NotEqual(t, anna.json["teacher_id"], b.me(t, token).json["teacher_id"], "never a platform's user")

	require.Equal(t, "session", who(name, "ben", "Authorization", "Bearer "+token).json["method"], "the token wins")
	who(name, "ben", "Authorization", "Bearer "+token+"x").problem(t, http.StatusUnauthorized, "token_invalid")
	for _, empty := range []string{"", "Bearer", "bearer ", "Bearer  "} {
		me := who(name, "ben", "Authorization", empty)
		require.Equal(t, "development", me.json["method"], "%q is no credential", empty)
	}
	for _, bad := range []string{"", " ", "a b", "a/b", "ä", "a\x00", string(make([]byte, 65))} {
		who(name, bad).problem(t, http.StatusUnauthorized, "token_invalid")
	}
	require.Contains(t, who(name, "a b").text, "The name in X-Development-User is not valid")
	who(name, "a", name, "b").problem(t, http.StatusUnauthorized, "token_invalid")
	out := do(t, b.handler, http.MethodPost, logoutPath, "", name, "anna")
	require.Equal(t, http.StatusNoContent, out.StatusCode, "logging out is not an error")

	b = setup(t, options{})
	require.False(t, b.service.DevelopmentEnabled(), "by default")
	who(name, "anna").problem(t, http.StatusUnauthorized, "token_missing")
}

func TestLogoutAllEndsEverySession(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	first, second, ben := b.signIn(t, "anna"), b.signIn(t, "anna"), b.signIn(t, "ben")
	const path = "/api/v1/auth/logout-all"
	out := do(t, b.handler, http.MethodPost, path, "", "Authorization", "Bearer "+first)
	require.Equal(t, http.StatusNoContent, out.StatusCode)
	for _, token := range []string{first, second} {
		b.me(t, token).problem(t, http.StatusUnauthorized, "token_invalid")
	}
	require.Equal(t, http.StatusOK, b.me(t, ben).StatusCode)
	do(t, b.handler, http.MethodPost, path, "", "Authorization", "Bearer "+second).
		problem(t, http.StatusUnauthorized, "token_invalid")
	do(t, b.handler, http.MethodPost, path, "").problem(t, http.StatusUnauthorized, "token_missing")
}
