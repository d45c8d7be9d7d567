// Package webui serves the page with which a teacher uses the feedback service in a browser: sign
// in, keep students, record lessons, read their text as it arrives, write the feedback, save it.
//
// The page consists of ES modules that need no build, in the folder page. It uses the HTTP
// interface that mini programs use, at addresses relative to its own. Recordings wait in the
// browser's IndexedDB until the server has confirmed them. The page's Content-Security-Policy
// allows only the server's own scripts, styles and interface, and no HTML from text (Trusted
// Types).
package webui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/vearutop/statigz"
)

//go:embed index.html
var index []byte

//go:embed page
var files embed.FS

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; media-src 'self' blob:; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Handler returns a handler for GET and HEAD requests of / and of the paths below /page/. It is
// safe for concurrent use.
func Handler() http.Handler {
	assets := statigz.FileServer(files, statigz.EncodeOnInit)
	digest := sha256.Sum256(index)
	tag := `"` + hex.EncodeToString(digest[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache") // browsers compare ETags
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "microphone=(self), screen-wake-lock=(self), camera=(), geolocation=()")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.URL.Path == "/" {
			h.Set("ETag", tag)
			http.ServeContent(w, r, "index.html", time.Time{}, bytes.NewReader(index))
			return
		}
		assets.ServeHTTP(w, r)
	})
}
