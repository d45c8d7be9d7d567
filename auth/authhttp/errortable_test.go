package authhttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
)

// The answers to a client for all answers of a platform.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule       string
		mood       http.HandlerFunc
		status     int
		code       string
		retryAfter string
	}{
		{"40029 invalid code", authtest.ErrorCode(40029), 401, "login_code_invalid", ""},
		{"41008 code missing", authtest.ErrorCode(41008), 400, "login_code_missing", ""},
		{"40226 blocked", authtest.ErrorCode(40226), 403, "login_blocked", ""},
		{"45011 too often", authtest.ErrorCode(45011), 429, "login_rate_limited", "60"},
		{"-1 busy", authtest.ErrorCode(-1), 503, "login_upstream_error", "2"},
		{"40125 secret", authtest.ErrorCode(40125), 503, "login_unavailable", "60"},
		{"unknown code", authtest.ErrorCode(12345), 502, "login_upstream_error", ""},
		{"cut connection", authtest.Cut, 502, "login_upstream_error", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{})
			b.platform.Behave(c.mood)
			code := b.platform.Code(authtest.User{OpenID: "the-open-id"})
			r := b.login(t, code)
			r.problem(t, c.status, c.code)
			require.Equal(t, c.retryAfter, r.Header.Get("Retry-After"))
			require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
			require.Equal(t, 1, b.platform.Seen(code))
			require.NotContains(t, r.text, "rid", "the platform's own text is not for clients")
			if c.code == "login_unavailable" {
				require.Contains(t, b.log.String(), `"level":"ERROR"`)
				require.False(t, b.service.LoginConfigured())
			}

			b.platform.Behave(nil)
			b.login(t, code).problem(t, http.StatusUnauthorized, "login_code_invalid")
			require.Equal(t, 1, b.platform.Seen(code), "the code was sent again")
			require.Equal(t, http.StatusOK,
				b.login(t, b.platform.Code(authtest.User{OpenID: "the-open-id"})).StatusCode,
				"the next login works")
		})
	}
}

func TestInvalidCodesLookTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	used := b.platform.Code(authtest.User{OpenID: "o"})
	require.Equal(t, http.StatusOK, b.login(t, used).StatusCode)
	exchanger, err := miniapp.New(miniapp.Config{AppID: b.platform.AppID, Secret: b.platform.Secret,
		Endpoint: b.platform.Endpoint()})
	require.NoError(t, err)
	// A node that did not see the code before asks the platform.
	other := setup(t, options{auth: func(c *auth.Config) { c.Exchanger = exchanger }})
	var bodies []map[string]any
	for _, r := range []reply{
		b.login(t, used), other.login(t, used), other.login(t, "unknown"), other.login(t, "mal formed"),
		other.login(t, strings.Repeat("a", 129)),
	} {
		r.problem(t, http.StatusUnauthorized, "login_code_invalid")
		delete(r.json, "instance") // the request's own id
		bodies = append(bodies, r.json)
	}
	for _, body := range bodies {
		require.Equal(t, bodies[0], body)
	}
}

func TestLoginBody(t *testing.T) {
	t.Parallel()
	b := setup(t, options{http: withDevices})
	for body, status := range map[string]int{
		`{"code":""}`: 422, `{"code":"a","nick":"x"}`: 422, `{"code":"` + strings.Repeat("a", 9<<10) + `"}`: 413,
	} {
		for _, path := range []string{loginPath, devicePath + "/session"} {
			do(t, b.handler, http.MethodPost, path, body).problem(t, status,
				map[int]string{422: "invalid_fields", 413: "too_large"}[status])
		}
	}
	require.Zero(t, b.platform.Exchanges())
	waits := do(t, b.handler, http.MethodPost, devicePath+"/session", `{"device_code":"`+b.page(t).DeviceCode+`"}`)
	require.Equal(t, http.StatusAccepted, waits.StatusCode)
}

// Nothing is logged that identifies a user or authenticates one, whatever fails.
func TestLogsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	secrets := []string{b.platform.Secret, "the-open-id", "the-union-id", "session-key"}
	user := authtest.User{OpenID: "the-open-id", UnionID: "the-union-id"}
	token := ""
	for _, mood := range []http.HandlerFunc{nil, authtest.Echo, authtest.Cut, authtest.ErrorCode(40125),
		authtest.ErrorCode(40029), authtest.ErrorCode(-1), authtest.Text(200, `{"openid":5}`), nil} {
		b.platform.Behave(mood)
		code := b.platform.Code(user)
		secrets = append(secrets, code)
		r := b.login(t, code, "Authorization", "Bearer "+token)
		if r.StatusCode == http.StatusOK {
			token = r.json["token"].(string)
			secrets = append(secrets, token)
		}
		b.me(t, token)
		b.me(t, token+"x")
	}
	require.NoError(t, b.store.Close())
	b.me(t, token)
	b.login(t, b.platform.Code(user))
	require.Greater(t, strings.Count(b.log.String(), "\n"), 5)
	for _, secret := range secrets {
		require.NotContains(t, b.log.String(), secret)
	}
}

func TestSignInAgainEndsTheOldSession(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	old := b.signIn(t, "anna")
	r := b.login(t, b.platform.Code(authtest.User{OpenID: "anna"}), "Authorization", "Bearer "+old)
	require.Equal(t, http.StatusOK, r.StatusCode)
	b.me(t, old).problem(t, http.StatusUnauthorized, "token_invalid")
	annas := r.json["token"].(string)
	r = b.login(t, b.platform.Code(authtest.User{OpenID: "ben"}), "Authorization", "Bearer "+annas)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, http.StatusOK, b.me(t, annas).StatusCode, "another user's sign-in ended the session")
}
