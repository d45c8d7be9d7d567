package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/examples/internal/docsui"
	"lessonkit.example/feedback/feedbackclient"
)

// withReference returns the address of a server that runs until the test ends, and the token and
// the identifier of a teacher. script takes the place of Scalar's if it is not empty.
func withReference(t *testing.T, script string) (url, token, teacher string) {
	platform := authtest.NewPlatform(t)
	environment := map[string]string{
		"DATABASE_URL":       "sqlite:" + filepath.Join(t.TempDir(), "x.db"),
		"MINIAPP_APP_ID":     platform.AppID,
		"MINIAPP_APP_SECRET": platform.Secret,
		"MINIAPP_API_URL":    platform.Endpoint(),
	}
	if script != "" {
		environment["SCALAR_JS"] = filepath.Join(t.TempDir(), "standalone.js")
		require.NoError(t, os.WriteFile(environment["SCALAR_JS"], []byte(script), 0o600))
	}
	s := newServer(t, server.RoleAPI, environment)
	url, token = "http://"+serve(t, s), signIn(t, s.Handler(), platform)
	c := feedbackclient.Client{Base: url, Header: http.Header{"Authorization": {"Bearer " + token}}}
	me, err := c.Me(t.Context())
	require.NoError(t, err)
	return url, token, me.ID
}

func TestSwaggerUISendsARequestWithAToken(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url, token, teacher := withReference(t, "")
	b.visit(url + "/scalar?swagger-ui")
	b.waitText("/api/v1/profiles")
	b.screenshot("page")
	b.clickButton("Authorize")
	const operation = "#operations-Sign-in-me "
	b.do(chromedp.SendKeys(chromedp.CSS(".auth-container input"), token),
		chromedp.Click(chromedp.CSS(".auth-container button.authorize")),
		chromedp.Click(chromedp.CSS(".auth-container button.btn-done")),
		chromedp.Click(chromedp.CSS(operation+".opblock-summary-control")),
		chromedp.WaitVisible(chromedp.CSS(operation+".responses-table .model-example")),
		chromedp.Click(chromedp.CSS(operation+"button.execute")))
	b.waitText(teacher)
	b.screenshot("answer")
	b.requireOnly(url)
}

// requireScalar skips the test in builds without Scalar.
func requireScalar(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("../../internal/docsui/dist/scalar-" + docsui.Version + ".js.gz"); err != nil {
		t.Skip("Scalar is not embedded; go generate fetches it: ", err)
	}
}

// Nothing is typed in: the page sends the development header by itself, also below a path.
func TestReferenceSendsTheDevelopmentHeader(t *testing.T) {
	t.Parallel()
	requireScalar(t)
	origin := "http://" + serve(t, onSQLite(t, server.RoleAPI, "BASE_PATH", "/teach"))
	url := origin + "/teach"
	me, err := feedbackclient.Development(url, "developer").Me(t.Context())
	require.NoError(t, err)
	b := newBrowser(t)
	b.visit(url + "/scalar")
	b.waitText("Teaching feedback")
	b.eval(`(() => { // Scalar draws an operation when it has been scrolled to
		[...document.querySelectorAll("a")].find((a) => a.innerText.includes("Who is signed in")).click();
		return "";
	})()`)
	b.clickButton("(get /api/v1/auth/me)")
	b.clickButton("Send get request")
	b.waitText(me.ID)
	b.screenshot("answer")
	b.requireOnly(origin)
}

func TestDocumentNamesTheDevelopmentSignInOnlyWhileItIsOn(t *testing.T) {
	t.Parallel()
	const scheme = `"X-Development-User"`
	require.Contains(t, get(onSQLite(t, server.RoleAPI).Handler(), "/openapi.json").Body.String(), scheme)
	production := newServer(t, server.RoleAPI, map[string]string{
		"APP_ENV": "production", "ALLOW_DEVELOPMENT_USER_HEADER": "true",
	})
	require.NotContains(t, get(production.Handler(), "/openapi.json").Body.String(), scheme)
}

func TestSwaggerUIReplacesAScriptThatDoesNotLoad(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url, _, _ := withReference(t, "/* empty */")
	b.visit(url + "/scalar")
	b.waitText("/api/v1/profiles")
	require.Equal(t, "?swagger-ui", b.eval("location.search"))
	b.requireOnly(url)
}

func TestReferenceMayOnlyUseItsOwnOrigin(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url, token, _ := withReference(t, `window.Scalar = {createApiReference: (where, o) => {
		document.querySelector(where).textContent = "drawn from " + o.url }}`)
	b.visit(url + "/scalar")
	b.waitText("drawn from openapi.json")
	fetch := func(token string) string {
		return b.eval(`fetch("/api/v1/profiles", {headers: {Authorization: "Bearer ` + token + `"}})
			.then((r) => String(r.status))`)
	}
	require.Equal(t, "401", fetch("wrong"))
	require.Equal(t, "200", fetch(token))
	require.Equal(t, "refused", b.eval(`fetch("http://elsewhere.test/").then(() => "sent", () => "refused")`))
	require.Equal(t, "refused", b.eval(`new Promise((done) => {
		const s = document.createElement("script");
		s.src = "http://elsewhere.test/x.js";
		s.onerror = () => done("refused");
		s.onload = () => done("run");
		document.body.append(s);
	})`))
}
