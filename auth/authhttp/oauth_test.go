package authhttp_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/oauth"
	"lessonkit.example/internal/oauthtest"
)

const (
	startPath    = "/api/v1/auth/oauth"
	callbackPath = "/api/v1/auth/oauth/callback"
)

// withOAuth returns a server with the sign-in of an OAuth 2 server, which signs Anna in.
func withOAuth(t *testing.T) (*bench, *oauthtest.Server) {
	t.Helper()
	s := oauthtest.New()
	t.Cleanup(s.Close)
	s.User, s.RedirectURL = "Anna", "https://school.example"+callbackPath
	client, err := oauth.New(oauth.Config{ClientID: s.ClientID, ClientSecret: s.Secret, RedirectURL: s.RedirectURL,
		AuthURL: s.URL + "/authorize", TokenURL: s.URL + "/token", UserInfoURL: s.URL + "/userinfo"})
	require.NoError(t, err)
	return setup(t, options{
		auth: func(c *auth.Config) { c.Exchanger = client },
		http: func(c *authhttp.Config) {
			withDevices(c)
			c.OAuth = &authhttp.OAuth{AuthCodeURL: client.AuthCodeURL, Page: "../../../../"}
			c.LoginsPerMinute, c.LoginBurst = 1, 3
		},
	}), s
}

// begin begins a sign-in, and returns the cookie of the browser and where the server sends it back.
func begin(t *testing.T, b *bench) (cookie, back string) {
	t.Helper()
	w := send(b.handler, http.MethodGet, startPath, "", "Sec-Fetch-Site", "none")
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Regexp(t, `^__Host-sign-in=[^;]{60,}; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax$`,
		w.Header().Get("Set-Cookie"))
	return w.Result().Cookies()[0].String(), redirected(t, w.Header().Get("Location"))
}

// redirected returns where the OAuth 2 server sends a browser, as path and query.
func redirected(t *testing.T, address string) string {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	back, err := resp.Location()
	require.NoError(t, err)
	return back.RequestURI()
}

// come is a browser that comes back from another site.
func come(b *bench, back string, header ...string) *httptest.ResponseRecorder {
	return send(b.handler, http.MethodGet, back, "", append([]string{"Sec-Fetch-Site", "cross-site",
		"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/153.0"}, header...)...)
}

func TestBrowserSignsInAtAnOAuthServer(t *testing.T) {
	t.Parallel()
	b, _ := withOAuth(t)
	cookie, back := begin(t, b)
	w := come(b, back, "Cookie", cookie)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, "../../../../#sign-in", w.Header().Get("Location"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	set := w.Header()["Set-Cookie"]
	require.Len(t, set, 2)
	require.Equal(t, "__Host-sign-in=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax", set[0])
	require.Regexp(t, `^__Host-session=[^;]+; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax$`, set[1])
	session := w.Result().Cookies()[1].String()
	list := send(b.handler, http.MethodGet, "/api/v1/auth/sessions", "", "Cookie", session)
	require.Contains(t, list.Body.String(), `"device":"Firefox, Linux"`)

	again := come(b, back, "Cookie", cookie)
	require.Equal(t, "../../../../#sign-in-failed=login_code_invalid", again.Header().Get("Location"), "replayed")

	// Signing in anew ends the session that it takes the place of.
	cookie, back = begin(t, b)
	w = come(b, back, "Cookie", cookie+"; "+session)
	require.Equal(t, "../../../../#sign-in", w.Header().Get("Location"))
	list = send(b.handler, http.MethodGet, "/api/v1/auth/sessions", "", "Cookie", w.Result().Cookies()[1].String())
	require.Equal(t, 1, strings.Count(list.Body.String(), "session_id"))

	// The sign-in with a code that a client has got itself is not there.
	require.Equal(t, http.StatusNotFound, send(b.handler, http.MethodPost, loginPath, `{"code":"x"}`).Code)
}

func TestForeignAnswersSignNobodyIn(t *testing.T) {
	t.Parallel()
	for rule, attack := range map[string]func(cookie, back, attackers string) (string, string){
		"a browser that did not begin": func(_, back, _ string) (string, string) { return "", back },
		"a link with an attacker's code": func(cookie, _, attackers string) (string, string) {
			return cookie, attackers
		},
		"an attacker's code with the state of the browser": func(cookie, back, attackers string) (string, string) {
			mine, theirs := query(back), query(attackers)
			mine.Set("code", theirs.Get("code")) // its verifier is another
			return cookie, callbackPath + "?" + mine.Encode()
		},
		"no state": func(cookie, back, _ string) (string, string) {
			return cookie, callbackPath + "?code=" + url.QueryEscape(query(back).Get("code"))
		},
		"a part of the state": func(cookie, back, _ string) (string, string) {
			q := query(back)
			q.Set("state", q.Get("state")[:20])
			return cookie, callbackPath + "?" + q.Encode()
		},
		"two cookies": func(cookie, back, _ string) (string, string) { return cookie + "; " + cookie, back },
		"no code": func(cookie, back, _ string) (string, string) {
			return cookie, callbackPath + "?state=" + query(back).Get("state")
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			b, s := withOAuth(t)
			cookie, back := begin(t, b)
			s.User = "Mallory"
			_, attackers := begin(t, b)
			cookie, back = attack(cookie, back, attackers)
			w := come(b, back, "Cookie", cookie)
			require.Equal(t, http.StatusSeeOther, w.Code)
			require.Contains(t, []string{"../../../../#sign-in-failed=login_code_invalid",
				"../../../../#sign-in-failed=login_code_missing"}, w.Header().Get("Location"))
			require.NotContains(t, strings.Join(w.Header()["Set-Cookie"], "\n"), "__Host-session")
		})
	}
}

func query(address string) url.Values {
	u, _ := url.Parse(address)
	return u.Query()
}

func TestCallbackWithoutAPageDoesNotLeadToItself(t *testing.T) {
	t.Parallel()
	h := authhttp.Handler(authhttp.Config{
		Service: setup(t, options{}).service, Cookie: &authhttp.Cookie{}, OAuth: &authhttp.OAuth{},
	})
	w := send(h, http.MethodGet, callbackPath+"?state=x", "")
	require.Equal(t, "/#sign-in-failed=login_code_invalid", w.Header().Get("Location"))
}

// What the address says never decides where the browser goes.
func TestCallbackLeadsToThePageOnly(t *testing.T) {
	t.Parallel()
	b, _ := withOAuth(t)
	for _, q := range []string{"error=https://evil.example&state=", "redirect_uri=//evil.example&state=",
		"page=//evil.example&state=", "error=%0d%0aLocation:%20//evil.example&state="} {
		cookie, back := begin(t, b)
		w := come(b, callbackPath+"?"+q+query(back).Get("state"), "Cookie", cookie)
		require.Regexp(t, `^\.\./\.\./\.\./\.\./#sign-in-failed=[a-z_]+$`, w.Header().Get("Location"), q)
	}
}

func TestErrorAnswersHaveCodes(t *testing.T) {
	t.Parallel()
	b, _ := withOAuth(t)
	for answer, code := range map[string]string{
		"access_denied": "login_blocked", "server_error": "login_upstream_error",
		"temporarily_unavailable": "login_upstream_error", "unauthorized_client": "login_unavailable",
		"invalid_scope": "login_unavailable", "new": "login_upstream_error",
	} {
		cookie, back := begin(t, b)
		w := come(b, callbackPath+"?error="+answer+"&state="+query(back).Get("state"), "Cookie", cookie)
		require.Equal(t, "../../../../#sign-in-failed="+code, w.Header().Get("Location"), answer)
		require.Contains(t, w.Header().Get("Set-Cookie"), "__Host-sign-in=; Path=/; Max-Age=0", "it is used once")
		require.Contains(t, b.log.String(), `"code":"`+code+`"`)
	}
	// Codes that are guessed are limited.
	const invalid = "login_code_invalid"
	for _, code := range []string{invalid, invalid, invalid, "login_rate_limited"} {
		cookie, back := begin(t, b)
		w := come(b, callbackPath+"?code=guess&state="+query(back).Get("state"), "Cookie", cookie)
		require.Equal(t, "../../../../#sign-in-failed="+code, w.Header().Get("Location"))
	}
	require.NoError(t, b.store.Close())
	cookie, back := begin(t, b)
	b.clock.Add(time.Hour)
	w := come(b, back, "Cookie", cookie)
	require.Equal(t, "../../../../#sign-in-failed=database_unavailable", w.Header().Get("Location"))
}
