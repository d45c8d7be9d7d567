package docsui

import (
	"embed"
	"log/slog"
	"net/url"
	"os"
	"regexp"
)

// dist holds what go generate fetched; a build without it compiles all the same.
//
//go:embed all:dist
var dist embed.FS

// script is where the page takes its script from.
type script struct {
	src       string // as the page names it; empty without a script
	integrity string // of a foreign script
	asset     *asset // of one served here
}

const scriptType = "text/javascript; charset=utf-8"

// findScript takes the first script that there is, see the package comment.
func findScript(cfg Config) script {
	if cfg.ScriptFile != "" {
		data, err := os.ReadFile(cfg.ScriptFile)
		if err == nil && len(data) > 0 {
			cfg.Logger.Info("reference page with the configured script", slog.String("file", cfg.ScriptFile))
			return own(newAsset(scriptType, data))
		}
		cfg.Logger.Warn("the reference page's configured script cannot be read", slog.String("file", cfg.ScriptFile), slog.Any("error", err))
	}
	if data, err := dist.ReadFile("dist/" + EmbeddedName); err == nil {
		if a, err := compressedAsset(scriptType, data); err == nil {
			cfg.Logger.Debug("reference page with the embedded script", slog.String("version", Version))
			return own(a)
		}
		cfg.Logger.Warn("the reference page's embedded script is damaged: run go generate again")
	}
	return foreignScript(cfg)
}

// foreignScript is the configured script of a CDN, where its address and hash
// are fit for the page.
func foreignScript(cfg Config) script {
	if cfg.ScriptURL == "" {
		return script{}
	}
	integrity := cfg.ScriptIntegrity
	if integrity == "" {
		integrity = ScriptIntegrity
	}
	u, err := url.Parse(cfg.ScriptURL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || !sourceSafe.MatchString(cfg.ScriptURL) || !integrityForm.MatchString(integrity) {
		cfg.Logger.Warn("the reference page's script address is not used: it must be https with a sha384 or sha512 hash", slog.String("url", cfg.ScriptURL))
		return script{}
	}
	cfg.Logger.Info("reference page with a script from elsewhere", slog.String("url", cfg.ScriptURL))
	return script{src: cfg.ScriptURL, integrity: integrity}
}

var (
	// sourceSafe are addresses that can stand in a Content-Security-Policy.
	sourceSafe    = regexp.MustCompile(`^[A-Za-z0-9:/.@_~%+-]+$`)
	integrityForm = regexp.MustCompile(`^sha(384|512)-[A-Za-z0-9+/]+=*$`)
)

func own(a *asset) script {
	return script{src: "standalone.js?v=" + a.version(), asset: a}
}
