package webui_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/examples/internal/webui"
)

func get(path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	webui.Handler().ServeHTTP(w, r)
	return w
}

// files returns the page's files with one of the extensions.
func files(t *testing.T, extensions ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS("page"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains(extensions, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(filepath.Join("page", path))
		found[path] = string(text)
		return err
	}))
	require.NotEmpty(t, found)
	return found
}

func TestTypesOfThePageAreCorrect(t *testing.T) {
	t.Parallel()
	page, err := filepath.Abs("page")
	require.NoError(t, err)
	nodetest.Run(t, "testdata/typescript", []string{"PAGE=" + page}, "check.mjs")
}

func TestBothLanguagesAreComplete(t *testing.T) {
	t.Parallel()
	texts := map[string]map[string]string{}
	for path, text := range files(t, ".json") {
		var m map[string]string
		require.NoError(t, json.Unmarshal([]byte(text), &m), path)
		texts[path] = m
	}
	english, chinese := texts["i18n/en.json"], texts["i18n/zh.json"]
	var code strings.Builder
	for _, text := range files(t, ".js") {
		code.WriteString(text)
	}
	code.WriteString(get("/").Body.String())
	value := regexp.MustCompile(`\{\w+\}`)
	require.Len(t, chinese, len(english))
	for key, text := range english {
		require.NotEmpty(t, chinese[key], key)
		want, got := value.FindAllString(text, -1), value.FindAllString(chinese[key], -1)
		require.ElementsMatch(t, want, got, key)
		require.Regexp(t, `\p{Han}`, chinese[key], key)
		if !strings.HasPrefix(key, "error_") && !strings.HasPrefix(key, "warning_") { // made of codes
			require.Contains(t, code.String(), `"`+key+`"`, "is used nowhere")
		}
	}
}

func TestPageIsSmall(t *testing.T) {
	t.Parallel()
	unpacked, sent := 0, 0
	for path, text := range files(t, ".js", ".css") {
		unpacked += len(text)
		sent += get("/page/"+path, "Accept-Encoding", "gzip").Body.Len()
	}
	unpacked += get("/page/worker.js").Body.Len()
	sent += get("/page/worker.js", "Accept-Encoding", "gzip").Body.Len()
	t.Logf("scripts and styles: %d bytes, %d sent", unpacked, sent)
	require.Less(t, unpacked, 115_000)
	require.Less(t, sent, 43_000)
}

// Text from the server or the teacher never becomes HTML or code, and nothing is written inline,
// which the policy would refuse.
func TestNoTextBecomesCode(t *testing.T) {
	t.Parallel()
	texts := files(t, ".js")
	texts["index.html"] = get("/").Body.String()
	for path, text := range texts {
		require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function`, text, path)
		require.NotRegexp(t, `<style|<script>|\son\w+="|\sstyle=`, text, path)
		require.NotRegexp(t, `https?://|(src|href)="/`, text, "%s: addresses are relative", path)
	}
}

// The service worker keeps every file of the page, and its script changes when one of them does.
func TestServiceWorkerKeepsEveryFile(t *testing.T) {
	t.Parallel()
	w := get("/page/worker.js")
	require.Equal(t, "../", w.Header().Get("Service-Worker-Allowed"))
	require.Contains(t, w.Header().Get("Content-Type"), "javascript")
	require.Regexp(t, `version = "[0-9a-f]{16}"`, w.Body.String())
	require.Contains(t, w.Body.String(), `["./",`)
	for path := range files(t, ".js", ".css", ".json", ".svg", ".png", ".webmanifest") {
		require.Contains(t, w.Body.String(), `"page/`+path+`"`)
	}
}

// The page loads all modules at once, not one after the other.
func TestAllModulesArePreloaded(t *testing.T) {
	t.Parallel()
	page := get("/").Body.String()
	for path := range files(t, ".js") {
		require.Contains(t, page, `="page/`+path+`"`)
	}
}

func TestHeadersAreStrictAndFilesAreCached(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{
		"/": "text/html", "/page/app.js": "javascript", "/page/app.css": "text/css",
		"/page/i18n/zh.json": "application/json",
	} {
		w := get(path)
		require.Equal(t, http.StatusOK, w.Code, path)
		h := w.Header()
		require.Contains(t, h.Get("Content-Type"), kind)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Contains(t, h.Get("Permissions-Policy"), "microphone=(self)")
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "require-trusted-types-for 'script'",
			"trusted-types worker", "frame-ancestors 'none'"} {
			require.Contains(t, policy, part)
		}
		require.NotContains(t, policy, "unsafe")
		require.NotEmpty(t, h.Get("ETag"), path)
		require.Equal(t, http.StatusNotModified, get(path, "If-None-Match", h.Get("ETag")).Code, path)
	}
	require.Equal(t, http.StatusNotFound, get("/page/nothing.js").Code)
	require.Equal(t, http.StatusNotFound, get("/page/").Code)
}
