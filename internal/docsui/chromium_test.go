package docsui

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// shop serves the reference and the operation that the page is to call, for
// those who have its token.
func shop(t *testing.T, cfg Config) (server *httptest.Server, calls *atomic.Int32) {
	cfg.Document = testDocument(t)
	calls = new(atomic.Int32)
	mux := http.NewServeMux()
	reference := Handler(cfg)
	mux.Handle("GET /scalar", reference)
	mux.Handle("GET /scalar/", reference)
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		data, _ := cfg.Document()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
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

// requireQuiet checks that the page asked no other server for anything and that
// nothing went against its policy.
func requireQuiet(t *testing.T, b *browser, origin string) {
	t.Helper()
	for _, u := range b.requests() {
		require.True(t, strings.HasPrefix(u, origin+"/") || strings.HasPrefix(u, "data:") || strings.HasPrefix(u, "blob:"), "asked for %s", u)
	}
	for _, e := range b.eventsOf("Log.entryAdded") {
		require.NotContains(t, string(e), "Content Security Policy")
	}
	for _, e := range b.eventsOf("Runtime.exceptionThrown") {
		t.Errorf("the page threw %s", e)
	}
}

// TestCallFromThePage types a token into the fetched page and sends a request
// with it, as a reader would.
func TestCallFromThePage(t *testing.T) {
	t.Parallel()
	if findScript(Config{Logger: slog.New(slog.DiscardHandler)}).asset == nil {
		t.Skip("the script is not embedded in this build: run go generate ./internal/docsui")
	}
	b := newBrowser(t)
	server, calls := shop(t, Config{})
	b.open(server.URL + "/scalar")
	b.until(`document.body.innerText.includes("Put a pencil on the shelf")`)
	b.screenshot("scalar")
	b.until(`document.querySelector("input[placeholder=Token]")`)
	b.eval(`document.querySelector("input[placeholder=Token]").focus()`)
	b.call("Input.insertText", map[string]any{"text": "token-of-the-test"}, nil)

	const button = `[...document.querySelectorAll("button")].find((b) => b.innerText.includes("`
	b.until(button + `(get /api/pencils)"))`)
	b.eval(button + `(get /api/pencils)")).click()`)
	b.until(button + `Send get request"))`)
	b.eval(button + `Send get request")).click()`)
	b.until(`document.body.innerText.includes("the pencil of the test")`)
	b.screenshot("answer")
	require.Positive(t, calls.Load())
	requireQuiet(t, b, server.URL)
}

// TestFetchFromThePage calls the interface from the page's origin and under its
// policy, with a script in the place of the fetched one.
func TestFetchFromThePage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	server, calls := shop(t, withScript(t, `window.Scalar = {createApiReference: (where, o) => {
		document.querySelector(where).textContent = "drawn from " + o.url }}`))
	b.open(server.URL + "/scalar")
	b.until(`document.body.innerText.includes("drawn from /openapi.json")`)
	call := func(token string) string {
		return b.eval(`fetch("/api/pencils", {headers: {Authorization: "Bearer ` + token + `"}}).then((r) => r.status)`)
	}
	require.Equal(t, "401", call("wrong"))
	require.Equal(t, "200", call("token-of-the-test"))
	require.EqualValues(t, 1, calls.Load())
	require.Equal(t, "refused", b.eval(`fetch("http://elsewhere.test/").then(() => "sent", () => "refused")`))
	require.Equal(t, "refused", b.eval(`new Promise((done) => { const s = document.createElement("script"); s.src = "http://elsewhere.test/x.js";
		s.onerror = () => done("refused"); s.onload = () => done("run"); document.body.append(s) })`))
}

// TestPageWithoutScript reads the page that is made here, in a browser that runs
// no script and in one whose script did not come.
func TestPageWithoutScript(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	server, _ := shop(t, withScript(t, `/* it came, but holds nothing */`))

	b.open(server.URL + "/scalar")
	b.until(`location.search === "?plain" && document.body.innerText.includes("Put a pencil on the shelf")`)
	require.Equal(t, "0", b.eval(`document.scripts.length`))
	require.Equal(t, "grid", b.eval(`getComputedStyle(document.querySelector(".layout")).display`), "the style sheet is allowed")
	require.Equal(t, "0", b.eval(`[...document.querySelectorAll("a[href^='#']")].filter((a) => !document.getElementById(a.getAttribute("href").slice(1))).length`), "every link leads somewhere")
	require.Equal(t, "true", b.eval(`(() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id); return new Set(ids).size === ids.length })()`))
	b.screenshot("plain")
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
	b.eval(`document.querySelectorAll("details").forEach((d) => d.open = true)`)
	b.eval(`document.querySelectorAll("article")[1].scrollIntoView({behavior: "instant"})`)
	b.screenshot("plain-dark")
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true}, nil)
	require.Equal(t, "true", b.eval(`document.documentElement.scrollWidth <= 390`), "nothing sticks out on a phone")
	b.screenshot("plain-phone")
	b.call("Emulation.clearDeviceMetricsOverride", nil, nil)

	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.call("Page.navigate", map[string]any{"url": server.URL + "/scalar"}, nil)
	var tree json.RawMessage
	for tries := 0; tries < 400 && !strings.Contains(string(tree), "Put a pencil on the shelf"); tries++ {
		b.call("Accessibility.getFullAXTree", nil, &tree)
	}
	require.Contains(t, string(tree), "Put a pencil on the shelf", "what noscript holds is read out")
	b.screenshot("noscript")
	requireQuiet(t, b, server.URL)
}
