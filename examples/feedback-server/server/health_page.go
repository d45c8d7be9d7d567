package server

import (
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

//go:embed health.html
var healthHTML string

var healthTemplate = template.Must(template.New("health").Funcs(template.FuncMap{
	"broken":    broken,
	"join":      strings.Join,
	"gigabytes": func(bytes int64) string { return fmt.Sprintf("%.1f GB", float64(bytes)/1e9) },
}).Parse(healthHTML))

// broken names what makes the state degraded.
func broken(r Report) string {
	var parts []string
	if !r.Database.Migrated || r.Database.PoolerMisused {
		parts = append(parts, "database")
	}
	if !r.StorageAvailable {
		parts = append(parts, "storage")
	}
	if !r.SpeechAvailable {
		parts = append(parts, "recognition")
	}
	if r.Queue != nil && len(r.Queue.Paused) > 0 {
		parts = append(parts, "jobs")
	}
	if r.SignInRefused {
		parts = append(parts, "sign-in")
	}
	return strings.Join(parts, ", ")
}

// page shows the state to operators, with the style of the queue's pages beside it.
func (h *health) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = healthTemplate.Execute(w, h.report(r.Context())) // fails when the client has left
}
