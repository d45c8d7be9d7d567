// Package docsui serves an interactive reference of an HTTP interface at /scalar, for the OpenAPI
// document at /openapi.json. All addresses are relative: both may be below any path of a proxy.
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
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/swaggest/swgui/v5/static"
	"github.com/vearutop/statigz"
)

//go:generate sh fetch.sh

// Version is the release of @scalar/api-reference that the package is made for.
const Version = "1.72.1"

// integrity is the hash of the release's standalone.js in the form of HTML.
const integrity = "sha512-tU3J4euEo5lXIMy42HF4KUTdundzAMuHoOw2Z0WquNAbdigLVdAyOGPJJoCmhiSNVRnSgfNqbB1VdiIfNATEMg=="

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

// page is one form of the reference. Its addresses are relative to /scalar.
type page struct {
	Title     string
	Style     string // address of the style sheet, if any
	Script    string
	Integrity string // hash of a script on a CDN
	Start     string // address of the script that starts the reference
	policy    string // what the Content-Security-Policy allows beyond basePolicy
}

const basePolicy = "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; "

// Handler returns a handler for GET and HEAD requests of /scalar and the paths below it. It is safe
// for concurrent use.
func Handler(cfg Config) http.Handler {
	swagger := page{
		Title:  cfg.Title,
		Style:  "scalar/swagger-ui/swagger-ui.css",
		Script: "scalar/swagger-ui/swagger-ui-bundle.js",
		Start:  "scalar/start/swagger-ui.js",
		policy: "style-src 'self'; img-src 'self' data:; script-src 'self'",
	}
	scalar := page{
		Title: cfg.Title,
		Start: "scalar/start/scalar.js",
		policy: "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; " +
			"worker-src 'self' blob:; script-src 'self'",
	}
	mux := http.NewServeMux()
	mux.Handle("GET /scalar/start/", http.StripPrefix("/scalar/", statigz.FileServer(start)))
	mux.Handle("GET /scalar/swagger-ui/", http.StripPrefix("/scalar/swagger-ui/", statigz.FileServer(static.FS)))
	mux.HandleFunc("GET /scalar/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "../scalar") // http.Redirect would make it absolute, a proxy may have a prefix
		w.WriteHeader(http.StatusPermanentRedirect)
	})

	configured := cfg.Script
	if err := checkScript(configured); err != nil {
		cfg.Logger.Warn("the configured script of the API reference cannot be used", slog.Any("error", err))
		configured = ""
	}
	const embedded = "dist/scalar-" + Version + ".js"
	if strings.HasPrefix(configured, "https://") {
		scalar.Script, scalar.Integrity = configured, integrity
		scalar.policy += " " + configured
	} else if configured != "" {
		scalar.Script = "scalar/configured.js"
		mux.HandleFunc("GET /scalar/configured.js", func(w http.ResponseWriter, r *http.Request) {
			http.ServeFile(w, r, configured)
		})
	} else if _, err := dist.Open(embedded + ".gz"); err == nil {
		scalar.Script = "scalar/" + embedded
		mux.Handle("GET /scalar/"+embedded, http.StripPrefix("/scalar/", statigz.FileServer(dist)))
	}

	mux.HandleFunc("GET /scalar", func(w http.ResponseWriter, r *http.Request) {
		if scalar.Script == "" || r.URL.Query().Has("swagger-ui") {
			swagger.serve(w)
			return
		}
		scalar.serve(w)
	})
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
	h.Set("Content-Security-Policy", basePolicy+p.policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	_ = pageTemplate.Execute(w, p) // only the connection can fail
}

// cdnAddress matches addresses that can be part of a Content-Security-Policy.
var cdnAddress = regexp.MustCompile(`^https://[A-Za-z0-9.:-]+/[A-Za-z0-9:/.@_~%+-]+$`)

// checkScript returns an error if a script is neither a file nor the https address of one.
func checkScript(script string) error {
	if script == "" || cdnAddress.MatchString(script) {
		return nil
	}
	if strings.Contains(script, "://") {
		return errors.New("not an https address without credentials, query and unusual characters")
	}
	_, err := os.Stat(script)
	return err
}
