package docsui

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func testDocument(t *testing.T) func() ([]byte, error) {
	data, err := os.ReadFile("testdata/openapi.json")
	require.NoError(t, err)
	return func() ([]byte, error) { return data, nil }
}

// withScript configures a handler with a script of the test's own.
func withScript(t *testing.T, script string) Config {
	file := filepath.Join(t.TempDir(), "standalone.js")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	return Config{Document: testDocument(t), ScriptFile: file}
}

func get(h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPageWithScript(t *testing.T) {
	t.Parallel()
	h := Handler(withScript(t, "window.Scalar = {}"))
	w := get(h, "/scalar")
	require.Equal(t, 200, w.Code)
	body := w.Body.String()
	require.Contains(t, body, `<script src="scalar/standalone.js?v=`)
	require.Contains(t, body, `<script src="scalar/init.js?v=`)
	noscript := body[strings.Index(body, "<body>"):]
	require.Contains(t, noscript[strings.Index(noscript, "<noscript>"):strings.Index(noscript, "</noscript>")], "Put a pencil on the shelf")
	policy := w.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "script-src 'self';")
	require.NotContains(t, policy, "unsafe-eval")
	require.Contains(t, policy, "frame-ancestors 'none'")
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))

	plain := get(h, "/scalar?plain")
	require.NotContains(t, plain.Body.String(), "<script")
	require.NotContains(t, plain.Header().Get("Content-Security-Policy"), "script-src")
}

func TestEveryAddressOfThePageAnswers(t *testing.T) {
	t.Parallel()
	cfg := withScript(t, "window.Scalar = {}")
	cfg.Path = "/docs/api/"
	h := Handler(cfg)
	page := get(h, "/docs/api").Body.String()
	for name, contentType := range map[string]string{"style.css": "text/css", "standalone.js": "text/javascript", "init.js": "text/javascript"} {
		at := strings.Index(page, `"api/`+name+"?v=")
		require.Positive(t, at, name)
		address := page[at+1:]
		address = "/docs/" + address[:strings.Index(address, `"`)] // as a browser resolves it
		w := get(h, address)
		require.Equal(t, 200, w.Code, address)
		require.Contains(t, w.Header().Get("Content-Type"), contentType)
		require.Contains(t, w.Header().Get("Cache-Control"), "immutable")
		require.Equal(t, "no-cache", get(h, strings.Split(address, "?")[0]).Header().Get("Cache-Control"))
	}
	require.Equal(t, 404, get(h, "/docs/api/other.js").Code)
	slash := get(h, "/docs/api/")
	require.Equal(t, 308, slash.Code)
	require.Equal(t, "../api", slash.Header().Get("Location"))
}

func TestInitScript(t *testing.T) {
	t.Parallel()
	cfg := withScript(t, "window.Scalar = {}")
	cfg.DocumentURL, cfg.Title = "/v2/openapi.json", "</script>"
	text := get(Handler(cfg), "/scalar/init.js").Body.String()
	require.NotContains(t, text, "</script>")
	settings := text[strings.Index(text, `"#reference", `)+len(`"#reference", `) : strings.Index(text, ");")]
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(settings), &got))
	require.Equal(t, "/v2/openapi.json", got["url"])
	require.Equal(t, false, got["telemetry"])
	require.Equal(t, false, got["withDefaultFonts"])
	require.Contains(t, text, `location.replace("?plain")`)
}

func TestCompressionAndTags(t *testing.T) {
	t.Parallel()
	script := "window.Scalar = {}; // " + strings.Repeat("long ", 1000)
	h := Handler(withScript(t, script))
	for _, target := range []string{"/scalar", "/scalar/standalone.js"} {
		raw := get(h, target)
		require.Empty(t, raw.Header().Get("Content-Encoding"))
		zipped := get(h, target, "Accept-Encoding", "br, gzip;q=0.5")
		require.Equal(t, "gzip", zipped.Header().Get("Content-Encoding"))
		require.Less(t, zipped.Body.Len(), raw.Body.Len())
		z, err := gzip.NewReader(zipped.Body)
		require.NoError(t, err)
		content, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Equal(t, raw.Body.String(), string(content))
		require.NotEqual(t, raw.Header().Get("ETag"), zipped.Header().Get("ETag"))
		require.Equal(t, "Accept-Encoding", zipped.Header().Get("Vary"))
		require.Empty(t, get(h, target, "Accept-Encoding", "gzip;q=0").Header().Get("Content-Encoding"))

		tag := zipped.Header().Get("ETag")
		again := get(h, target, "Accept-Encoding", "gzip", "If-None-Match", `"other", W/`+tag)
		require.Equal(t, 304, again.Code)
		require.Zero(t, again.Body.Len())
		require.Equal(t, 200, get(h, target, "If-None-Match", `"other"`).Code)

		head := httptest.NewRecorder()
		h.ServeHTTP(head, httptest.NewRequest(http.MethodHead, target, nil))
		require.Equal(t, 200, head.Code)
		require.Zero(t, head.Body.Len())
	}
	post := httptest.NewRecorder()
	h.ServeHTTP(post, httptest.NewRequest(http.MethodPost, "/scalar", nil))
	require.Equal(t, 405, post.Code)
	require.Equal(t, "GET, HEAD", post.Header().Get("Allow"))
}

// TestWhichScript tries the sources in a build without the embedded script.
func TestWhichScript(t *testing.T) {
	t.Parallel()
	if _, err := dist.ReadFile("dist/" + EmbeddedName); err == nil {
		require.NotNil(t, findScript(Config{ScriptURL: "https://cdn.test/x.js", Logger: slog.New(slog.DiscardHandler)}).asset, "the embedded script comes before a CDN")
	}
	const integrity = "sha384-AAAA"
	for _, c := range []struct {
		name string
		cfg  Config
		src  string
	}{
		{"none", Config{}, ""},
		{"a CDN with a hash", Config{ScriptURL: "https://cdn.test/a@1/x.js", ScriptIntegrity: integrity}, "https://cdn.test/a@1/x.js"},
		{"a CDN without encryption", Config{ScriptURL: "http://cdn.test/x.js"}, ""},
		{"a CDN with a weak hash", Config{ScriptURL: "https://cdn.test/x.js", ScriptIntegrity: "md5-AAAA"}, ""},
		{"an address that would add to the policy", Config{ScriptURL: "https://cdn.test/x.js; script-src *"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Logger = slog.New(slog.DiscardHandler)
			require.Equal(t, c.src, foreignScript(c.cfg).src)
		})
	}
}

func TestForeignScriptIsNamedInThePolicy(t *testing.T) {
	t.Parallel()
	h := Handler(Config{Document: testDocument(t)}).(*ui)
	h.script = foreignScript(Config{ScriptURL: "https://cdn.test/a@1/x.js", Logger: slog.New(slog.DiscardHandler)})
	w := get(h, "/scalar")
	require.Contains(t, w.Body.String(), `<script src="https://cdn.test/a@1/x.js" integrity="sha512-`)
	require.Contains(t, w.Body.String(), `crossorigin="anonymous"`)
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "script-src 'self' https://cdn.test/a@1/x.js;")
	require.Equal(t, 404, get(h, "/scalar/standalone.js").Code)
}

func TestUnreadableScriptIsLoggedAndLeftOut(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	h := Handler(Config{ScriptFile: filepath.Join(t.TempDir(), "none.js"), Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	require.Equal(t, 200, get(h, "/scalar").Code)
	require.Contains(t, logged.String(), "none.js")
}

func TestDocumentThatCannotBeReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	good := testDocument(t)
	calls := 0
	h := Handler(Config{Document: func() ([]byte, error) {
		calls++
		switch calls {
		case 1:
			return nil, errors.New("secret cause")
		case 2:
			return []byte(`{"paths": 7}`), nil
		}
		return good()
	}})
	for range 2 {
		w := get(h, "/scalar?plain")
		require.Equal(t, 200, w.Code)
		require.Contains(t, w.Body.String(), "cannot be shown here")
		require.Contains(t, w.Body.String(), `href="/openapi.json"`)
		require.NotContains(t, w.Body.String(), "secret")
	}
	require.Contains(t, get(h, "/scalar?plain").Body.String(), "All pencils")
	get(h, "/scalar?plain")
	require.Equal(t, 3, calls)
}

func TestWithoutDocument(t *testing.T) {
	t.Parallel()
	body := get(Handler(Config{Title: "A & B"}), "/scalar?plain").Body.String()
	require.Contains(t, body, "<h1>A &amp; B</h1>")
	require.Contains(t, body, `href="/openapi.json"`)
}
