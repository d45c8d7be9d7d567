package docsui_test

import (
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/browsertest"
	"lessonkit.example/examples/internal/docsui"
)

// shop serves the reference and the operation that it describes, which needs a token.
func shop(t *testing.T, script string) (server *httptest.Server, calls *atomic.Int32) {
	calls = new(atomic.Int32)
	mux := http.NewServeMux()
	reference := docsui.Handler(docsui.Config{Title: "Pencils", Script: script, Logger: slog.New(slog.DiscardHandler)})
	mux.Handle("/scalar", reference)
	mux.Handle("/scalar/", reference)
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "testdata/openapi.json")
	})
	mux.HandleFunc("GET /api/pencils", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-of-the-test" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[{"name":"the pencil of the test"}]`))
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, calls
}

func TestSwaggerUISendsARequestWithAToken(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t)
	server, calls := shop(t, "")
	b.Do(chromedp.Navigate(server.URL + "/scalar?swagger-ui"))
	b.WaitText("List all pencils")
	b.Screenshot("page")
	b.ClickButton("Authorize")
	b.Do(chromedp.SendKeys(chromedp.CSS(".auth-container input"), "token-of-the-test"),
		chromedp.Click(chromedp.CSS(".auth-container button.authorize")),
		chromedp.Click(chromedp.CSS(".auth-container button.btn-done")),
		chromedp.Click(chromedp.CSS(".opblock-summary-control")))
	b.WaitText("The pencils.")
	b.ClickButton("Execute")
	b.WaitText("the pencil of the test")
	b.Screenshot("answer")
	require.EqualValues(t, 1, calls.Load())
	b.RequireOnly(server.URL)
}

func TestScalarSendsARequestWithAToken(t *testing.T) {
	t.Parallel()
	if _, err := fs.Stat(os.DirFS("dist"), docsui.EmbeddedName); err != nil {
		t.Skip("Scalar's script is not embedded; go generate fetches it: ", err)
	}
	b := browsertest.New(t)
	server, calls := shop(t, "")
	b.Do(chromedp.Navigate(server.URL + "/scalar"))
	b.WaitText("List all pencils")
	b.Screenshot("page")
	b.Do(chromedp.SendKeys(chromedp.CSS("input[placeholder=Token]"), "token-of-the-test"))
	b.ClickButton("(get /api/pencils)")
	b.ClickButton("Send get request")
	b.WaitText("the pencil of the test")
	b.Screenshot("answer")
	require.EqualValues(t, 1, calls.Load())
	b.RequireOnly(server.URL)
}

func TestSwaggerUIReplacesAScriptThatDidNotLoad(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t)
	server, _ := shop(t, scriptFile(t, "/* empty */"))
	b.Do(chromedp.Navigate(server.URL + "/scalar"))
	b.WaitText("List all pencils")
	require.Equal(t, "?swagger-ui", b.Eval("location.search"))
	b.RequireOnly(server.URL)
}

func TestPolicyStopsRequestsAndScriptsOfOtherOrigins(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t)
	server, calls := shop(t, scriptFile(t, `window.Scalar = {createApiReference: (where, o) => {
		document.querySelector(where).textContent = "drawn from " + o.url }}`))
	b.Do(chromedp.Navigate(server.URL + "/scalar"))
	b.WaitText("drawn from /openapi.json")
	fetch := func(token string) string {
		return b.Eval(`fetch("/api/pencils", {headers: {Authorization: "Bearer ` + token + `"}})
			.then((r) => String(r.status))`)
	}
	require.Equal(t, "401", fetch("wrong"))
	require.Equal(t, "200", fetch("token-of-the-test"))
	require.EqualValues(t, 1, calls.Load())
	require.Equal(t, "refused", b.Eval(`fetch("http://elsewhere.test/").then(() => "sent", () => "refused")`))
	require.Equal(t, "refused", b.Eval(`new Promise((done) => {
		const s = document.createElement("script");
		s.src = "http://elsewhere.test/x.js";
		s.onerror = () => done("refused");
		s.onload = () => done("run");
		document.body.append(s);
	})`))
}
