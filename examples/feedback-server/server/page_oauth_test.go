package server_test

import (
	"maps"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/internal/oauthtest"
)

// oauthEnvironment returns the settings of a server whose teachers sign in at another one.
func oauthEnvironment(t *testing.T, campus *oauthtest.Server) map[string]string {
	t.Helper()
	return map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "BASE_PATH": "/teach",
		"OAUTH_NAME": "Campus", "OAUTH_CLIENT_ID": campus.ClientID, "OAUTH_CLIENT_SECRET": campus.Secret,
		"OAUTH_AUTH_URL":  strings.Replace(campus.URL, "127.0.0.1", "localhost", 1) + "/authorize", // another site
		"OAUTH_TOKEN_URL": campus.URL + "/token", "OAUTH_USERINFO_URL": campus.URL + "/userinfo",
		"OAUTH_REDIRECT_URL": campus.RedirectURL,
	}
}

// withCampus returns the address of such a server.
func withCampus(t *testing.T) string {
	t.Helper()
	front := httptest.NewUnstartedServer(nil)
	url := "http://" + front.Listener.Addr().String() + "/teach"
	campus := oauthtest.New()
	t.Cleanup(campus.Close)
	campus.RedirectURL = url + "/api/v1/auth/oauth/callback"
	s := newServer(t, server.RoleAPI, oauthEnvironment(t, campus))
	front.Config.Handler = s.Handler()
	front.Start()
	t.Cleanup(front.Close)
	return url
}

// A teacher signs in at the OAuth 2 server. The session lasts over a reload, is listed and ended
// like those by a code, and belongs to the same teacher at the next sign-in.
func TestPageIsSignedInAtAnOAuthServer(t *testing.T) {
	t.Parallel()
	url := withCampus(t)
	b := newBrowser(t)
	const name = "Sign in with Campus"
	follow := func(link string) {
		b.waitText(link)
		b.click("a.primary")
	}
	b.visit(url)
	b.waitText(name)
	b.screenshot("oauth")
	require.NotContains(t, b.eval(`document.body.innerText`), "mini program")
	follow(name)
	b.clickButton("Cancel")
	b.waitText("The sign-in was refused there.")
	b.screenshot("refused")
	follow(name)
	b.clickButton("I am Anna")
	b.waitText("There are no students yet")
	require.Equal(t, url+"/#/", b.eval(`location.href`))
	require.Empty(t, b.eval(`document.cookie`), "scripts do not see it")
	b.reload()
	b.waitText("There are no students yet")
	b.eval(`location.hash = "#/settings"; ""`)
	b.waitText("Chrome, Linux · this device")
	me := `fetch("api/v1/auth/me").then((r) => r.json()).then((me) => me.teacher_id)`
	anna := b.eval(me)
	b.eval(`fetch("api/v1/auth/logout-all", { method: "POST" }).then(() => { location.hash = "#/"; return ""; })`)
	b.waitText("Your sign-in has expired.")
	follow(name)
	b.clickButton("I am Anna")
	b.until(`() => document.querySelector("nav") && !document.body.innerText.includes("expired")`, "")
	require.Equal(t, anna, b.eval(me))
	b.clickButton("Sign out")
	follow(name)
	b.clickButton("I am Ben")
	b.waitText("There are no students yet")
	require.NotEqual(t, anna, b.eval(me))

	// An attacker's link, with a code of their own, changes nothing.
	b.visit(url + "/api/v1/auth/oauth/callback?state=x&code=theirs")
	b.waitText("The login code is not valid.")
	require.True(t, strings.HasPrefix(b.eval(`location.href`), url+"/#/"))
	require.NotEqual(t, anna, b.eval(me))
	// Nor does a code of the page that nobody knows.
	b.visit(url + "/#sign-in-failed=constructor")
	b.waitText("It did not succeed")
}

func TestOAuthSettingsAreChecked(t *testing.T) {
	t.Parallel()
	campus := oauthtest.New()
	t.Cleanup(campus.Close)
	campus.RedirectURL = "https://school.example/teach/api/v1/auth/oauth/callback"
	good := oauthEnvironment(t, campus)
	_, err := server.ParseConfig(good)
	require.NoError(t, err)
	for name, c := range map[string]struct{ value, message string }{
		"OAUTH_CLIENT_SECRET": {"", "OAUTH_CLIENT_SECRET: must be set"},
		"OAUTH_TOKEN_URL":     {"http://campus.example/token", "OAUTH_TOKEN_URL: must be an https:// address"},
		"OAUTH_AUTH_URL":      {"campus", "OAUTH_AUTH_URL: must be an https:// address"},
		"OAUTH_REDIRECT_URL":  {"https://school.example/back", "must end with /teach/api/v1/auth/oauth/callback"},
		"MINIAPP_APP_ID":      {"app", "must not both be set"},
	} {
		bad := maps.Clone(good)
		bad[name] = c.value
		if name == "MINIAPP_APP_ID" {
			bad["MINIAPP_APP_SECRET"] = "hush"
		}
		_, err := server.ParseConfig(bad)
		require.ErrorContains(t, err, c.message)
		require.NotContains(t, err.Error(), campus.Secret)
	}
}
