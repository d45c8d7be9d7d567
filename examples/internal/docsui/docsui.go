// Package docsui serves an interactive reference of an HTTP interface at /scalar, for the OpenAPI
// document at /openapi.json.
//
// The reference is Scalar where there is a script for it: [Config.Script], or the script that
// go generate fetched and the build embedded. Otherwise, and with the query "?swagger-ui", it is
// Swagger UI, which every build contains. Neither needs a CDN unless Config.Script names one.
//
// Every page has a strict Content-Security-Policy: scripts of this origin only (or of the one CDN
// address, with its hash), no frames, and no requests to other origins.
package docsui

import (
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"regexp"

	"github.com/swaggest/swgui/v5/static"
	"github.com/vearutop/statigz"
)

//go:generate go run ./fetch

// Config configures a [Handler].
type Config struct {
	// Title of the page. It must not be empty.
	Title string

	// Script is a standalone.js of @scalar/api-reference: the path of a file, or the https
	// address of release [Version] on a CDN. If empty, the embedded script is used. A script that
	// cannot be used is logged and replaced by the embedded one.
	Script string

	// Logger receives warnings. It must not be nil.
	Logger *slog.Logger
}

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// start holds the scripts that start the references.
//
//go:embed start
var start embed.FS

// dist holds the script that go generate fetched, if it did.
//
//go:embed all:dist
var dist embed.FS

// page is a form of the reference.
type page struct {
	Title     string
	Style     string // address of the style sheet, relative to the page
	Script    string // address of the reference's script
	Integrity string // hash of a script of another origin
	Start     string // address of the script that starts the reference
	policy    string
}

// Handler returns a handler for GET and HEAD requests of /scalar and the paths below it. It is safe
// for concurrent use.
func Handler(cfg Config) http.Handler {
	swagger := page{
		Title:  cfg.Title,
		Style:  "scalar/swagger-ui/swagger-ui.css",
		Script: "scalar/swagger-ui/swagger-ui-bundle.js",
		Start:  "scalar/start/swagger-ui.js",
		policy: "style-src 'self' 'unsafe-inline'; img-src 'self' data:; script-src 'self'",
	}
	preferred := swagger

	mux := http.NewServeMux()
	mux.Handle("GET /scalar/start/", http.StripPrefix("/scalar/", statigz.FileServer(start)))
	mux.Handle("GET /scalar/swagger-ui/", http.StripPrefix("/scalar/swagger-ui/", statigz.FileServer(static.FS)))
	if script, ok := findScript(cfg); ok {
		preferred = page{
			Title:     cfg.Title,
			Script:    script.address,
			Integrity: script.integrity,
			Start:     "scalar/start/scalar.js",
			policy: "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; " +
				"worker-src 'self' blob:; script-src 'self'",
		}
		if script.integrity != "" {
			preferred.policy += " " + script.address
		}
		if script.handler != nil {
			mux.Handle("GET /"+script.address, script.handler)
		}
	}
	mux.HandleFunc("GET /scalar", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("swagger-ui") {
			swagger.serve(w)
			return
		}
		preferred.serve(w)
	})
	mux.Handle("GET /scalar/{$}", http.RedirectHandler("../scalar", http.StatusPermanentRedirect))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

func (p page) serve(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; "+
		"frame-ancestors 'none'; "+p.policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	_ = pageTemplate.Execute(w, p) // only the connection can fail
}

// script is a script of Scalar.
type script struct {
	address   string       // relative to the page, or on a CDN
	integrity string       // of a script on a CDN
	handler   http.Handler // serves the address; nil for a CDN
}

// findScript returns the script of Scalar, and false if there is none.
func findScript(cfg Config) (script, bool) {
	if cfg.Script != "" {
		if cdnAddress(cfg.Script) {
			return script{address: cfg.Script, integrity: ScriptIntegrity}, true
		}
		_, err := os.Stat(cfg.Script)
		if err == nil {
			serve := func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, cfg.Script) }
			return script{address: "scalar/configured.js", handler: http.HandlerFunc(serve)}, true
		}
		cfg.Logger.Warn("the configured script of the reference page cannot be used", slog.Any("error", err))
	}
	if _, err := dist.Open("dist/" + EmbeddedName); err != nil {
		return script{}, false
	}
	return script{
		address: "scalar/dist/scalar-" + Version + ".js",
		handler: http.StripPrefix("/scalar/", statigz.FileServer(dist)),
	}, true
}

// policySafe matches addresses that can be part of a Content-Security-Policy.
var policySafe = regexp.MustCompile(`^[A-Za-z0-9:/.@_~%+-]+$`)

func cdnAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && policySafe.MatchString(address)
}
