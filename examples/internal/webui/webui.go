// Package webui serves the page with which a teacher uses the feedback service in a browser: sign
// in, keep students, record lessons, read their text as it arrives, write the feedback, save it.
//
// The page consists of ES modules that need no build, in the folder page. It uses the HTTP
// interface that mini programs use, at addresses relative to its own. Recordings wait in the
// browser's IndexedDB until the server has confirmed them; a service worker starts the page while
// the server is away. The page's Content-Security-Policy allows only the server's own scripts,
// styles and interface, and no HTML from text (Trusted Types).
package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/vearutop/statigz"
)

//go:embed index.html page
var files embed.FS

//go:embed worker.js
var worker []byte

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; media-src 'self' blob:; manifest-src 'self'; worker-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types worker"

// Handler returns a handler for GET and HEAD requests of / and of the paths below /page/. It is
// safe for concurrent use.
func Handler() http.Handler {
	assets := statigz.FileServer(files, statigz.EncodeOnInit)
	script := serviceWorker()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(script)
	_ = z.Close()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache") // browsers compare ETags
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "microphone=(self), screen-wake-lock=(self), camera=(), geolocation=()")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.URL.Path != "/page/worker.js" {
			assets.ServeHTTP(w, r)
			return
		}
		h.Set("Service-Worker-Allowed", "../")
		h.Set("Vary", "Accept-Encoding")
		content := script
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			content = packed.Bytes()
		}
		digest := sha256.Sum256(content)
		h.Set("ETag", `"`+hex.EncodeToString(digest[:8])+`"`)
		http.ServeContent(w, r, "worker.js", time.Time{}, bytes.NewReader(content))
	})
}

// serviceWorker returns the script of the service worker, which is another one whenever a file of
// the page is.
func serviceWorker() []byte {
	var kept []string // relative to the page
	digest := sha256.New()
	_ = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error { // an embedded one does not fail
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		kept = append(kept, strings.Replace(path, "index.html", "./", 1))
		fmt.Fprintf(digest, "%s %d\n%s", path, len(content), content)
		return err
	})
	names, _ := json.Marshal(kept) // strings
	return fmt.Appendf(nil, "const kept = %s, version = \"%x\";\n%s", names, digest.Sum(nil)[:8], worker)
}
