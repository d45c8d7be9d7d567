// Package asrhttp serves any [asr.Recognizer] in the form of OpenAI's transcription interface, so that every client of that interface can use it.
//
//	POST /v1/audio/transcriptions   multipart/form-data: file, model, language, response_format (json, text, verbose_json)
//	GET  /v1/models                 the model in use
//	GET  /health                    200 while recordings can be recognised, else 503, with the reason
//
// Errors have OpenAI's form: {"error":{"message","type","param","code"}}. Audio that cannot be used is a 400 that says why; a
// recogniser that is busy or away is a 503 with Retry-After.
//
// A recording is stored in a temporary file while it is worked on, never in memory. The number of recordings that wait is bounded; how many are
// recognised at once is the recogniser's own business. When the client goes away, so does its work.
//
// Exported names stay; fields of Config may be added.
package asrhttp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"lessonkit.example/asr"
)

// Config says what to serve. Recognizer is needed.
type Config struct {
	// Recognizer does the work.
	Recognizer asr.Recognizer
	// MaxBytes is the largest recording that is taken. Defaults to 256 MiB.
	MaxBytes int64
	// MaxPending is how many recordings may be in work or waiting; more are answered 503 at once. Defaults to 16.
	MaxPending int
	// ReadPause is the longest pause while a recording arrives; after it the request is given up. Defaults to 1 minute.
	ReadPause time.Duration
	// Dir is where recordings are kept while they are worked on. Defaults to the system's directory for temporary files.
	Dir string
	// Logger gets a line for each recording, without its text. If nil, nothing is logged.
	Logger *slog.Logger
}

// Handler serves a recognizer. Make one with New.
type Handler struct {
	cfg     Config
	mux     *http.ServeMux
	log     *slog.Logger
	pending chan struct{}
	started time.Time
}

// New returns the handler. It starts nothing.
func New(cfg Config) (*Handler, error) {
	if cfg.Recognizer == nil {
		return nil, errors.New("asrhttp: Config.Recognizer is nil")
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 256 << 20
	}
	if cfg.MaxPending <= 0 {
		cfg.MaxPending = 16
	}
	if cfg.ReadPause <= 0 {
		cfg.ReadPause = time.Minute
	}
	h := &Handler{cfg: cfg, mux: http.NewServeMux(), log: cfg.Logger, pending: make(chan struct{}, cfg.MaxPending), started: time.Now()}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.mux.HandleFunc("POST /v1/audio/transcriptions", h.transcribe)
	h.mux.HandleFunc("GET /v1/models", h.models)
	h.mux.HandleFunc("GET /health", h.health)
	h.mux.HandleFunc("/", h.fallback)
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

func (h *Handler) health(w http.ResponseWriter, r *http.Request) {
	s := h.cfg.Recognizer.Status(r.Context())
	body := map[string]any{"status": "ok", "model": s.Model}
	status := http.StatusOK
	if !s.Available {
		status = http.StatusServiceUnavailable
		body["status"], body["reason"] = "unavailable", s.Reason
		w.Header().Set("Retry-After", "15")
	}
	writeJSON(w, status, body)
}

func (h *Handler) models(w http.ResponseWriter, r *http.Request) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
		Task    string `json:"task"`
	}
	data := []model{}
	if s := h.cfg.Recognizer.Status(r.Context()); s.Model != "" {
		data = append(data, model{s.Model, "model", h.started.Unix(), cmp.Or(s.Provider, "local"), "automatic-speech-recognition"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// fallback answers what no route matches in the form of every other error.
func (h *Handler) fallback(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/audio/transcriptions":
		w.Header().Set("Allow", "POST")
	case "/v1/models", "/health":
		w.Header().Set("Allow", "GET, HEAD")
	default:
		h.fail(w, &failure{status: http.StatusNotFound, message: "there is nothing here; recordings go to POST /v1/audio/transcriptions"})
		return
	}
	h.fail(w, &failure{status: http.StatusMethodNotAllowed, message: r.Method + " is not possible here"})
}

// failure is an answer that is not a transcript.
type failure struct {
	status     int
	param      string // the form field that is wrong
	code       string
	message    string
	retryAfter time.Duration
	cause      error
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.cause }

func badRequest(param, code, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, param: param, code: code, message: fmt.Sprintf(format, args...)}
}

// failureOf says what an error of the recogniser means to the client.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	e, ok := errors.AsType[*asr.Error](err)
	if !ok {
		return &failure{status: http.StatusInternalServerError, code: "internal_error", message: "the recogniser failed", cause: err}
	}
	f := &failure{status: http.StatusInternalServerError, code: "recognition_failed", message: e.PublicText(), cause: err}
	switch {
	case e.Class == asr.ErrUnusableAudio:
		f.status, f.param, f.code = http.StatusBadRequest, "file", "invalid_audio"
	case e.RetryAfter() > 0:
		f.status, f.code, f.retryAfter = http.StatusServiceUnavailable, "unavailable", e.RetryAfter()
	}
	return f
}

func (h *Handler) fail(w http.ResponseWriter, f *failure) {
	kind := "invalid_request_error"
	if f.status >= 500 {
		kind = "server_error"
	}
	if f.retryAfter > 0 {
		seconds := (f.retryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	nullable := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	writeJSON(w, f.status, map[string]any{"error": map[string]any{
		"message": f.message, "type": kind, "param": nullable(f.param), "code": nullable(f.code),
	}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that has gone needs no answer
}

// gone tells whether an error comes from the client's going away while its recording is worked on.
func gone(ctx context.Context, err error) bool {
	_, answered := errors.AsType[*failure](err)
	return err != nil && ctx.Err() != nil && !answered
}
