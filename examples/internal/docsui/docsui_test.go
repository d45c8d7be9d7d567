package docsui_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/docsui"
)

func newHandler(script string) http.Handler {
	log := slog.New(slog.DiscardHandler)
	return docsui.Handler(docsui.Config{Title: "Pencils & more", Script: script, Logger: log})
}

// scriptFile writes a script that takes the place of Scalar's.
func scriptFile(t *testing.T, script string) string {
	file := filepath.Join(t.TempDir(), "standalone.js")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	return file
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

func TestEveryAddressOfThePagesIsServed(t *testing.T) {
	t.Parallel()
	address := regexp.MustCompile(`(?:src|href)="(scalar/[^"]+)"`)
	for _, script := range []string{"", scriptFile(t, "window.Scalar = {}")} {
		h := newHandler(script)
		for _, target := range []string{"/scalar", "/scalar?swagger-ui"} {
			page := get(h, target)
			require.Equal(t, http.StatusOK, page.Code)
			require.Contains(t, page.Body.String(), "<title>Pencils &amp; more</title>")
			addresses := address.FindAllStringSubmatch(page.Body.String(), -1)
			require.GreaterOrEqual(t, len(addresses), 2)
			for _, a := range addresses {
				require.Equal(t, http.StatusOK, get(h, "/"+a[1]).Code, a[1])
			}
		}
	}
}

func TestPolicyAllowsNoOtherOriginsScriptsAndFrames(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/scalar", "/scalar?swagger-ui"} {
		h := get(newHandler(""), target).Header()
		policy := h.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.Contains(t, policy, "connect-src 'self';")
		require.Regexp(t, `script-src 'self'$`, policy)
		require.NotContains(t, policy, "unsafe-eval")
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	}
}

func TestScriptOfACDNIsNamedInThePolicy(t *testing.T) {
	t.Parallel()
	w := get(newHandler("https://cdn.test/a@1/x.js"), "/scalar")
	require.Contains(t, w.Body.String(), `<script src="https://cdn.test/a@1/x.js" integrity="sha512-`)
	require.Contains(t, w.Body.String(), `crossorigin="anonymous"`)
	require.Regexp(t, `script-src 'self' https://cdn\.test/a@1/x\.js$`, w.Header().Get("Content-Security-Policy"))
}

func TestUnusableScriptIsLoggedAndReplaced(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		filepath.Join(t.TempDir(), "none.js"),
		"http://cdn.test/x.js",
		"https://user:password@cdn.test/x.js",
		"https://cdn.test/x.js; script-src *",
	} {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, nil))
		h := docsui.Handler(docsui.Config{Title: "Pencils & more", Script: script, Logger: log})
		w := get(h, "/scalar")
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, logged.String(), "cannot be used", script)
		require.NotContains(t, w.Body.String(), "test")
		require.Equal(t, get(newHandler(""), "/scalar").Body.String(), w.Body.String(), script)
	}
}

func TestAssetsAreCompressedAndTagged(t *testing.T) {
	t.Parallel()
	h := newHandler("")
	const target = "/scalar/swagger-ui/swagger-ui-bundle.js"
	zipped := get(h, target, "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", zipped.Header().Get("Content-Encoding"))
	z, err := gzip.NewReader(zipped.Body)
	require.NoError(t, err)
	content, err := io.ReadAll(z)
	require.NoError(t, err)

	plain := get(h, target)
	require.Empty(t, plain.Header().Get("Content-Encoding"))
	require.Equal(t, content, plain.Body.Bytes())
	tag := zipped.Header().Get("ETag")
	require.Equal(t, http.StatusNotModified, get(h, target, "Accept-Encoding", "gzip", "If-None-Match", tag).Code)
}
