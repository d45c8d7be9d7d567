// Package asrhttp serves any [asr.Recognizer] with OpenAI's transcription interface, so that every
// client of that interface can use it.
//
//	POST /v1/audio/transcriptions   a multipart form: file, language, response_format (json, text,
//	                                verbose_json); other fields are ignored
//	GET  /v1/models                 the model in use
//	GET  /health                    200 while recognition is available, else 503 with the reason
//
// Errors have OpenAI's form: {"error":{"message","type","param","code"}}. Audio that cannot be used
// is a 400 with the reason; a recogniser that is busy or unavailable is a 503 with Retry-After.
//
// A recording is stored in a temporary file, never in memory, until it is recognised. The number of
// recordings that are accepted at once is limited; how many of them are recognised at once is up to
// the recogniser. When the client disconnects, recognition stops.
//
// # Compatibility
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

// Config configures a Handler. Recognizer is required.
type Config struct {
	// Recognizer recognises the recordings.
	Recognizer asr.Recognizer
	// MaxBytes is the size of the largest recording that is accepted. Defaults to 256 MiB.
	MaxBytes int64
	// MaxPending is the number of recordings that are accepted at once; the answer to others is
	// 503. Defaults to 16.
	MaxPending int
	// ReadPause is the longest pause while a recording arrives before the request is rejected.
	// Defaults to 1 minute.
	ReadPause time.Duration
	// Dir is the directory for temporary files. Defaults to os.TempDir.
	Dir string
	// Logger receives a line for each recording, without its text. If nil, nothing is logged.
	Logger *slog.Logger
}

// Handler is an http.Handler that serves a recogniser. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	mux     *http.ServeMux
	log     *slog.Logger
	pending chan struct{}
	started time.Time
}

// New returns a Handler. It starts nothing. The only error is a missing Recognizer.
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
	h := &Handler{
		cfg:     cfg,
		mux:     http.NewServeMux(),
		log:     cfg.Logger,
		pending: make(chan struct{}, cfg.MaxPending),
		started: time.Now(),
	}
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
		data = append(data, model{
			ID: s.Model, Object: "model", Created: h.started.Unix(), OwnedBy: cmp.Or(s.Provider, "local"),
			Task: "automatic-speech-recognition",
		})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// fallback handles requests that match no route, with an error in OpenAI's form.
func (h *Handler) fallback(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/audio/transcriptions":
		w.Header().Set("Allow", "POST")
	case "/v1/models", "/health":
		w.Header().Set("Allow", "GET, HEAD")
	default:
		h.fail(w, &failure{status: http.StatusNotFound, message: "not found; see POST /v1/audio/transcriptions"})
		return
	}
	h.fail(w, &failure{status: http.StatusMethodNotAllowed, message: "method " + r.Method + " is not allowed"})
}

// failure is an error answer.
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

// failureOf returns the answer for an error of the recogniser.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	e, ok := errors.AsType[*asr.Error](err)
	if !ok {
		return &failure{
			status: http.StatusInternalServerError, code: "internal_error", cause: err,
			message: "the recogniser failed",
		}
	}
	f := &failure{
		status: http.StatusInternalServerError, code: "recognition_failed", message: e.PublicText(), cause: err,
	}
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
	_ = enc.Encode(v) // fails only if the client has disconnected
}

// disconnected reports whether err was caused by a client that disconnected during recognition.
func disconnected(ctx context.Context, err error) bool {
	_, answered := errors.AsType[*failure](err)
	return err != nil && ctx.Err() != nil && !answered
}
