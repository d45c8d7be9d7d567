package authhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/internal/httpapi"
)

// send sends a request from a page of the server, unless headers say otherwise.
func send(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://school.example"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i+1] == "" {
			r.Header.Del(header[i])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestCookieKeepsTheTokenOfABrowser(t *testing.T) {
	t.Parallel()
	b := setup(t, options{http: withDevices})
	w := b.browser(t)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	cookie := w.Result().Cookies()[0]
	require.NoError(t, cookie.Valid())
	who, err := b.service.Authenticate(t.Context(), cookie.Value)
	require.NoError(t, err)
	require.NotContains(t, w.Body.String(), cookie.Value, "scripts never see it")
	require.Contains(t, w.Body.String(), who.UserID.String())
	require.Equal(t, "__Host-session="+cookie.Value+"; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax",
		w.Header().Get("Set-Cookie"))
	me := send(b.handler, http.MethodGet, mePath, "", "Cookie", "__Host-session="+cookie.Value)
	require.JSONEq(t, w.Body.String(), me.Body.String())
	require.Equal(t, []string{"Cookie"}, me.Header()["Vary"])

	ended := send(b.handler, http.MethodPost, logoutPath, "", "Cookie", "__Host-session="+cookie.Value)
	require.Equal(t, http.StatusNoContent, ended.Code)
	require.Equal(t, "__Host-session=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax",
		ended.Header().Get("Set-Cookie"))
	me = send(b.handler, http.MethodGet, mePath, "", "Cookie", "__Host-session="+cookie.Value)
	require.Equal(t, http.StatusUnauthorized, me.Code, "it ended on the server, too")
}

func TestCookieDoesNotHideTheRoute(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things", func(http.ResponseWriter, *http.Request) {})
	var route string
	h := httpapi.Wrap((&authhttp.Cookie{}).Handler(mux), httpapi.WrapOptions{
		Observe: func(_, pattern string, _ int, _ time.Duration) { route = pattern },
	})
	send(h, http.MethodGet, "/things", "", "Cookie", "__Host-session=token")
	require.Equal(t, "GET /things", route)
}

func TestOtherSitesCannotUseTheCookie(t *testing.T) {
	t.Parallel()
	b := setup(t, options{http: func(c *authhttp.Config) { c.Cookie = &authhttp.Cookie{} }})
	login, err := b.service.Login(t.Context(), b.platform.Code(authtest.User{OpenID: "ann"}))
	require.NoError(t, err)
	mine := "__Host-session=" + login.Token
	for _, c := range []struct {
		rule, method string
		header       []string
		status       int
	}{
		{"a page of this server", "POST", []string{"Cookie", mine}, 204},
		{"another site", "POST", []string{"Cookie", mine, "Sec-Fetch-Site", "cross-site"}, 403},
		{"another host of the same site", "POST", []string{"Cookie", mine, "Sec-Fetch-Site", "same-site"}, 403},
		{"an old browser, this origin", "POST",
			[]string{"Cookie", mine, "Sec-Fetch-Site", "", "Origin", "https://school.example"}, 204},
		{"an old browser, another origin", "POST",
			[]string{"Cookie", mine, "Sec-Fetch-Site", "", "Origin", "https://evil.example"}, 403},
		{"an old browser, no origin to tell", "POST",
			[]string{"Cookie", mine, "Sec-Fetch-Site", "", "Origin", "null"}, 403},
		{"not a browser", "POST", []string{"Cookie", mine, "Sec-Fetch-Site", ""}, 204},
		{"another site, without a cookie", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another site, reading", "GET", []string{"Cookie", mine, "Sec-Fetch-Site", "cross-site"}, 200},
		{"a bearer token is not a cookie", "POST",
			[]string{"Authorization", "Bearer " + login.Token, "Sec-Fetch-Site", "cross-site"}, 204},
		{"a wrong bearer token is not replaced", "POST", []string{"Authorization", "Bearer x", "Cookie", mine}, 401},
		{"Basic is not a token", "POST", []string{"Authorization", "Basic YTpi", "Cookie", mine}, 204},
		{"Basic, another site", "POST",
			[]string{"Authorization", "Basic YTpi", "Cookie", mine, "Sec-Fetch-Site", "cross-site"}, 403},
		{"two cookies of the name", "POST", []string{"Cookie", mine + "; " + mine}, 401},
		{"an empty cookie", "POST", []string{"Cookie", "__Host-session="}, 401},
		{"another cookie", "POST", []string{"Cookie", "session=" + login.Token}, 401},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := (&authhttp.Cookie{}).Handler(authhttp.Middleware(b.service)(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet {
						w.WriteHeader(http.StatusNoContent)
					}
				})))
			w := send(h, c.method, "/anything", "", c.header...)
			require.Equal(t, c.status, w.Code, w.Body)
			if c.status == http.StatusForbidden {
				require.Contains(t, w.Body.String(), "cross_origin_refused")
			}
		})
	}
	code := b.platform.Code(authtest.User{OpenID: "mallory"})
	w := send(b.handler, http.MethodPost, loginPath, `{"code":"`+code+`"}`, "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, w.Code, "a sign-in as somebody else")
	require.Zero(t, b.platform.Seen(code))
}

func TestCookieForDevelopment(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	for want, c := range map[string]*authhttp.Cookie{
		"session=%s; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax":      {Insecure: true},
		"mine=%s; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax":         {Insecure: true, Name: "mine"},
		"mine=%s; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax": {Name: "mine"},
	} {
		b.handler = authhttp.Handler(authhttp.Config{Service: b.service, Cookie: c, Devices: true})
		w := b.browser(t)
		require.Equal(t, fmt.Sprintf(want, w.Result().Cookies()[0].Value), w.Header().Get("Set-Cookie"))
	}
}

func TestDevicesNeedACookie(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { authhttp.Handler(authhttp.Config{Devices: true}) })
}

func TestRefuseAnswersErrorsOfTheService(t *testing.T) {
	t.Parallel()
	identify := authhttp.Authenticate(setup(t, options{}).service)
	_, nobody := identify(t.Context(), http.Header{})
	for code, err := range map[string]error{
		"token_missing":        nobody,
		"login_code_invalid":   &auth.ExchangeError{Kind: auth.ErrCodeRejected, Message: "secret"},
		"login_not_configured": auth.ErrNotConfigured,
		"login_upstream_error": &auth.ExchangeError{Message: "secret"}, // of an exchanger that sets no Kind
		"session_not_found":    auth.ErrNoSession,
		"internal_error":       context.DeadlineExceeded,
	} {
		w := httptest.NewRecorder()
		authhttp.Refuse(w, httptest.NewRequest(http.MethodGet, "/callback", nil), err)
		require.Contains(t, w.Body.String(), `"code":"`+code+`"`)
		require.NotContains(t, w.Body.String(), "secret")
	}
}
