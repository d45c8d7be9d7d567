// Package asrhttp serves any [asr.Recognizer] with OpenAI's transcription interface, so that every
// client of that interface can use it.
//
//	handler, err := asrhttp.New(asrhttp.Config{Recognizer: recognizer})
//	http.Handle("/", handler)
//
// It answers:
//
//	POST /v1/audio/transcriptions   a multipart form; see below
//	GET  /v1/models                 the model in use
//	GET  /v1/models/{id}            the same, or 404
//	GET  /health                    200 while recognition is available, else 503 with the reason
//
// The fields of the form are file, model (any), language, prompt (a hint for recognisers that take
// one), response_format (json, text, verbose_json, srt, vtt), timestamp_granularities[] (segment,
// word; with verbose_json) and stream (with json). The header X-Ignored-Fields of an answer names
// fields that had no effect, such as temperature.
//
// Errors have OpenAI's form: {"error":{"message","type","param","code"}}. Audio that cannot be used
// is a 400 with the reason; a recogniser that is busy or unavailable is a 503 with Retry-After.
//
// A recording is stored in a temporary file, never in memory, until it is recognised. The number of
// recordings that are accepted at once is limited; how many of them are recognised at once is up to
// the recogniser. When the client disconnects, recognition stops. There is no authentication.
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
	"lessonkit.example/internal/tempdir"
)

// Config configures a Handler. Recognizer is required.
type Config struct {
	// Recognizer recognises the recordings.
	Recognizer asr.Recognizer
	// MaxBytes is the size of the largest recording that is accepted. Defaults to 256 MiB.
	MaxBytes int64
	// MaxPending is the number of recordings that wait or are recognised at once; the answer to
	// others is 503. Four times as many may arrive at once. Defaults to 16.
	MaxPending int
	// ReadPause is the longest pause while a recording arrives before the request is rejected. It
	// must also arrive at 1 KiB per second after the first pause. Defaults to 1 minute.
	ReadPause time.Duration
	// Dir is the parent of the temporary directories: see package asr. Defaults to os.TempDir.
	Dir string
	// Logger receives a line for each recording, without its text. If nil, nothing is logged.
	Logger *slog.Logger
}

// Handler is an http.Handler that serves a recogniser. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	mux     *http.ServeMux
	log     *slog.Logger
	pending chan struct{} // recordings that have arrived
	started time.Time

	arriving chan struct{} // recordings that arrive
	origins  http.CrossOriginProtection
}

// tempPrefix is the beginning of the names of temporary directories.
const tempPrefix = "lessonkit-asr-http-"

// New returns a Handler, and deletes recordings that a killed process has left in cfg.Dir. It
// starts nothing. The only error is a missing Recognizer.
func New(cfg Config) (*Handler, error) {
	if cfg.Recognizer == nil {
		return nil, errors.New("asrhttp: Config.Recognizer is nil")
	}
	cfg.MaxBytes = cmp.Or(max(cfg.MaxBytes, 0), 256<<20)
	cfg.MaxPending = cmp.Or(max(cfg.MaxPending, 0), 16)
	cfg.ReadPause = cmp.Or(max(cfg.ReadPause, 0), time.Minute)
	h := &Handler{
		cfg:     cfg,
		mux:     http.NewServeMux(),
		log:     cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		pending: make(chan struct{}, cfg.MaxPending),
		started: time.Now(),

		arriving: make(chan struct{}, 4*cfg.MaxPending),
	}
	tempdir.Sweep(cfg.Dir, tempPrefix)
	h.mux.HandleFunc("POST /v1/audio/transcriptions", h.transcribe)
	h.mux.HandleFunc("GET /v1/models", h.models)
	h.mux.HandleFunc("GET /v1/models/{id...}", h.model)
	h.mux.HandleFunc("GET /health", h.health)
	h.mux.HandleFunc("/", h.fallback)
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// No key is needed, so that any web page in a browser on this network could post a form.
	if err := h.origins.Check(r); err != nil {
		h.fail(w, &failure{
			status: http.StatusForbidden, code: "cross_origin", message: "requests of web pages are refused",
		})
		return
	}
	h.mux.ServeHTTP(w, r)
}

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

// inUse returns the model in use, if it is known, in OpenAI's form with the field task of speaches.
func (h *Handler) inUse(ctx context.Context) []map[string]any {
	s := h.cfg.Recognizer.Status(ctx)
	if s.Model == "" {
		return []map[string]any{}
	}
	return []map[string]any{{
		"id": s.Model, "object": "model", "created": h.started.Unix(), "owned_by": s.Provider,
		"task": "automatic-speech-recognition",
	}}
}

func (h *Handler) models(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": h.inUse(r.Context())})
}

func (h *Handler) model(w http.ResponseWriter, r *http.Request) {
	for _, m := range h.inUse(r.Context()) {
		if m["id"] == r.PathValue("id") {
			writeJSON(w, http.StatusOK, m)
			return
		}
	}
	h.fail(w, &failure{status: http.StatusNotFound, param: "model", code: "model_not_found",
		message: "this server does not have the model; see GET /v1/models"})
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
}

func (f *failure) Error() string { return f.message }

func badRequest(param, code, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, param: param, code: code, message: fmt.Sprintf(format, args...)}
}

// canceled is the answer where the end of the request is the cause: the client has disconnected, or
// the server stops.
var canceled = &failure{
	status: http.StatusServiceUnavailable, code: "canceled", retryAfter: time.Second,
	message: "the request was canceled",
}

// failureOf returns the answer for an error of work.
func failureOf(ctx context.Context, err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if ctx.Err() != nil {
		return canceled
	}
	f := &failure{status: http.StatusInternalServerError, code: "internal_error", message: "the recogniser failed"}
	e, ok := errors.AsType[*asr.Error](err)
	if !ok {
		return f
	}
	f.code, f.message = "recognition_failed", e.PublicText()
	switch {
	case e.Class == asr.ErrUnusableAudio:
		f.status, f.param, f.code = http.StatusBadRequest, "file", "invalid_audio"
	case e.RetryAfter() > 0:
		f.status, f.code, f.retryAfter = http.StatusServiceUnavailable, "unavailable", e.RetryAfter()
	case e.Class == nil && errors.Is(e.Err, context.DeadlineExceeded):
		f.code, f.message = "timeout", e.PublicText()+": "+e.Message // tells the client which limit has passed
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
