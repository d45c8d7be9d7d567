package docsui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
)

//go:embed style.css
var styleSheet []byte

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template shows.
type page struct {
	Title       string
	DocumentURL string
	Style, Init string // addresses
	Script      string // empty without a script
	Integrity   string // of a foreign script
	Reference   *reference
	Problem     string // why there is no reference
}

// servePage answers with the page with the script, or, with ?plain or without a
// script, with the reference made here.
func (u *ui) servePage(w http.ResponseWriter, r *http.Request) {
	p := page{
		Title: u.cfg.Title, DocumentURL: u.cfg.DocumentURL,
		Style: u.base + "style.css?v=" + u.style.version(),
		Init:  u.base + "init.js?v=" + u.init.version(),
	}
	if u.script.src != "" && !r.URL.Query().Has("plain") {
		p.Script, p.Integrity = u.script.src, u.script.integrity
		if u.script.asset != nil {
			p.Script = u.base + p.Script
		}
	}
	doc, err := u.document()
	if err != nil {
		u.cfg.Logger.ErrorContext(r.Context(), "the OpenAPI document cannot be shown", slog.Any("error", err))
		p.Problem = "The OpenAPI document cannot be shown here."
	} else if doc != nil {
		p.Reference = newReference(doc, origin(r))
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		u.cfg.Logger.ErrorContext(r.Context(), "reference page", slog.Any("error", err))
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", u.policy(p.Script != ""))
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	sum := sha256.Sum256(b.Bytes())
	send(w, r, hex.EncodeToString(sum[:]), compress(b.Bytes(), gzip.BestSpeed))
}

// policy is the page's Content-Security-Policy. The script sets styles of its
// own and draws with blobs; it evaluates no text.
func (u *ui) policy(withScript bool) string {
	if !withScript {
		return "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	}
	scripts := "'self'"
	if u.script.asset == nil {
		scripts += " " + u.script.src
	}
	return "default-src 'none'; script-src " + scripts + "; connect-src 'self'; style-src 'self' 'unsafe-inline'; " +
		"img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// document reads the OpenAPI document once it can be read; nil when there is none.
func (u *ui) document() (*document, error) {
	if u.cfg.Document == nil {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.doc != nil {
		return u.doc, nil
	}
	data, err := u.cfg.Document()
	if err != nil {
		return nil, err
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	u.doc = &doc
	return u.doc, nil
}

// origin is where the request went, for the examples.
func origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// initScript starts the fetched script, and leads to the page without it where
// it did not come.
func (u *ui) initScript() []byte {
	settings, _ := json.Marshal(map[string]any{ // strings and booleans
		"url":                u.cfg.DocumentURL,
		"withDefaultFonts":   false, // they are elsewhere
		"telemetry":          false,
		"hideClientButton":   true,
		"showDeveloperTools": "never",
		"agent":              map[string]any{"disabled": true},
		"mcp":                map[string]any{"disabled": true},
		"authentication":     map[string]any{"preferredSecurityScheme": "bearer"},
		"metaData":           map[string]any{"title": u.cfg.Title},
	})
	return []byte("\"use strict\";\nif (window.Scalar) {\n  Scalar.createApiReference(\"#reference\", " + string(settings) +
		");\n} else {\n  location.replace(\"?plain\");\n}\n")
}
