// Package docsui serves the interactive reference of an HTTP interface at one
// path: the Scalar page, from a script that was fetched at build time and
// embedded, so that no CDN is needed, and, where there is no script or the
// browser runs none, a reference made here from the OpenAPI document.
//
// [Handler] looks for the script in this order: [Config.ScriptFile], the
// embedded one (put there by go generate), [Config.ScriptURL] (a CDN, opt in).
// Without any, the page has no script at all. With "?plain" it never has.
//
// Every page comes with a strict Content-Security-Policy: scripts of this origin
// only (or the one CDN address, with its hash), no frames, no foreign requests.
package docsui

import (
	"cmp"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:generate go run ./fetch

// Config configures a [Handler]. The zero value serves a page for /openapi.json.
type Config struct {
	// Title of the page. Defaults to "API reference".
	Title string

	// Path is where the page is; its script and style sheet are below it. Defaults
	// to "/scalar".
	Path string

	// DocumentURL is where the browser finds the OpenAPI document, relative to the
	// page or absolute on this origin. Defaults to "/openapi.json".
	DocumentURL string

	// Document returns the OpenAPI document as JSON, for the reference without
	// script. It is called at the first request and, after an error, again. If
	// nil, that reference only links to DocumentURL.
	Document func() ([]byte, error)

	// ScriptFile is the path of a standalone.js of @scalar/api-reference to serve
	// in place of the embedded one. One that cannot be read is logged and left out.
	ScriptFile string

	// ScriptURL is the https address of that script on a CDN, used when there is
	// no script here. ScriptIntegrity is its hash as in the HTML attribute and
	// defaults to that of [Version].
	ScriptURL, ScriptIntegrity string

	// Logger is told which script is used. If nil, nothing is logged.
	Logger *slog.Logger
}

// Handler returns a handler for cfg.Path and everything below it. It answers
// GET and HEAD, and is safe for concurrent use.
func Handler(cfg Config) http.Handler {
	cfg.Title = cmp.Or(cfg.Title, "API reference")
	cfg.Path = "/" + strings.Trim(cmp.Or(cfg.Path, "/scalar"), "/")
	cfg.DocumentURL = cmp.Or(cfg.DocumentURL, "/openapi.json")
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	u := &ui{
		cfg:    cfg,
		base:   path.Base(cfg.Path) + "/", // relative, so that a proxy may add a prefix
		script: findScript(cfg),
	}
	u.style = newAsset("text/css; charset=utf-8", styleSheet)
	u.init = newAsset("text/javascript; charset=utf-8", u.initScript())
	return u
}

type ui struct {
	cfg         Config
	base        string
	script      script
	style, init *asset

	mu  sync.Mutex
	doc *document // read once
}

func (u *ui) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, u.cfg.Path)
	switch {
	case name == "":
		u.servePage(w, r)
	case name == "/":
		// Relative addresses would lead astray.
		h.Set("Location", "../"+path.Base(u.cfg.Path))
		w.WriteHeader(http.StatusPermanentRedirect)
	case name == "/style.css":
		u.style.serve(w, r)
	case name == "/init.js" && u.script.src != "":
		u.init.serve(w, r)
	case name == "/standalone.js" && u.script.asset != nil:
		u.script.asset.serve(w, r)
	default:
		http.NotFound(w, r)
	}
}
