package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// WrapOptions of [Wrap].
type WrapOptions struct {
	// Logger takes one line a request. If nil, nothing is logged.
	Logger *slog.Logger

	// Observe is called after each request with what it came to, for metrics.
	// The route is the mux's pattern, "" where none matched. If nil, nothing
	// is observed.
	Observe func(method, route string, status int, took time.Duration)
}

// Wrap puts around a handler what every server needs: a request id (the
// caller's X-Request-Id when it is sane), panics and the mux's own 404 and 405
// as problems, and a line in the log for each request, which holds neither
// query nor headers nor bodies.
func Wrap(h http.Handler, o WrapOptions) http.Handler {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := &requestInfo{id: requestID(r), started: time.Now()}
		w.Header().Set("X-Request-Id", info.id)
		r = r.WithContext(context.WithValue(r.Context(), infoKey{}, info))
		rec := &recorder{ResponseWriter: w, request: r}
		defer rec.limitWrite() // for what is still in buffers
		if r.Body != nil && r.Body != http.NoBody {
			limitBody(w, unreadBody)
			defer limitBody(w, leftBody)
		}
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler {
					panic(v)
				}
				noteError(r.Context(), fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
				if rec.status != 0 {
					// Too late to say so: cut the connection, so that nobody takes half an answer for a whole one.
					info.log(log, r, rec.status)
					panic(http.ErrAbortHandler)
				}
				WriteError(rec, r, Internal(nil))
			}
			status := rec.status
			if status == 0 {
				status = http.StatusOK
			}
			if o.Observe != nil {
				o.Observe(r.Method, info.routeOf(r), status, time.Since(info.started))
			}
			info.log(log, r, status)
		}()
		h.ServeHTTP(rec, r)
	})
}

const (
	// unreadBody bounds a body whose handler sets no deadline of its own.
	unreadBody = time.Minute
	// leftBody bounds what is left of a body once its handler has returned.
	leftBody = 5 * time.Second
	// unreadAnswer bounds how long a client may take nothing of an answer.
	unreadAnswer = time.Minute
	// answerPart is what it must have taken by then of a file.
	answerPart = 256 << 10
)

// limitBody bounds how long the server waits for the body. It reads what a
// handler left of it before it sends the answer, so that a client who is
// refused and never sends its body would hold the connection for ever.
func limitBody(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(d)) // not every transport has deadlines
}

// RequestID returns the id that [Wrap] gave the request, or "".
func RequestID(ctx context.Context) string {
	if info := infoOf(ctx); info != nil {
		return info.id
	}
	return ""
}

// Annotate adds attributes to the request's line in the log.
func Annotate(ctx context.Context, attrs ...slog.Attr) {
	if info := infoOf(ctx); info != nil {
		info.mu.Lock()
		defer info.mu.Unlock()
		info.attrs = append(info.attrs, attrs...)
	}
}

// NoteRoute remembers which pattern of the mux a request took, for the log and
// for metrics. It belongs right around a mux that stands behind middleware.
func NoteRoute(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if info := infoOf(r.Context()); info != nil {
				info.routeOf(r)
			}
		}()
		mux.ServeHTTP(w, r)
	})
}

// noteError adds the error behind an answer to the request's line in the log.
func noteError(ctx context.Context, err error) {
	if info := infoOf(ctx); info != nil && err != nil {
		info.mu.Lock()
		defer info.mu.Unlock()
		info.err = errors.Join(info.err, err)
	}
}

// requestInfo is what a request gathers on its way.
type requestInfo struct {
	id      string
	started time.Time

	mu    sync.Mutex
	route string
	attrs []slog.Attr
	err   error
}

type infoKey struct{}

func infoOf(ctx context.Context) *requestInfo {
	info, _ := ctx.Value(infoKey{}).(*requestInfo)
	return info
}

// routeOf is the mux's pattern: a middleware that copied the request on the
// way kept it from r.
func (i *requestInfo) routeOf(r *http.Request) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.route == "" {
		i.route = r.Pattern
	}
	return i.route
}

func (i *requestInfo) log(log *slog.Logger, r *http.Request, status int) {
	route := i.routeOf(r)
	i.mu.Lock()
	defer i.mu.Unlock()
	level := slog.LevelInfo
	attrs := append([]slog.Attr{
		slog.String("request_id", i.id),
		slog.String("method", r.Method),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Duration("took", time.Since(i.started)),
	}, i.attrs...)
	if i.err != nil {
		attrs = append(attrs, slog.String("error", i.err.Error()))
		if level = slog.LevelWarn; status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
}

// saneID keeps foreign ids from breaking or flooding the log.
var saneID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); saneID.MatchString(id) {
		return id
	}
	return uuid.Must(uuid.NewV7()).String()
}

// recorder remembers the status and replaces the mux's plain-text 404 and 405.
type recorder struct {
	http.ResponseWriter
	request  *http.Request
	status   int
	replaced bool // the handler's body is dropped
}

func (w *recorder) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	if status >= 200 {
		w.status = status
	}
	w.limitWrite()
	plain := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
	if plain && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		w.replaced = true
		detail := "there is nothing at this path"
		if status == http.StatusMethodNotAllowed {
			detail = "this path takes " + w.Header().Get("Allow")
		}
		WriteError(w.ResponseWriter, w.request, Error(status, codeOf(status), detail))
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.replaced {
		return len(p), nil
	}
	w.limitWrite()
	return w.ResponseWriter.Write(p)
}

// limitWrite bounds the next write: a client that reads nothing would hold its
// connection, and the file it asked for, for ever.
func (w *recorder) limitWrite() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(unreadAnswer))
}

// ReadFrom keeps the kernel's file-to-socket copy within reach, part by part.
func (w *recorder) ReadFrom(r io.Reader) (total int64, err error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	whole, limited := r.(*io.LimitedReader) // the kernel's copy knows a file within one of them, not two
	if !limited {
		whole = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	for {
		w.limitWrite()
		part := &io.LimitedReader{R: whole.R, N: min(whole.N, answerPart)}
		n, err := io.Copy(w.ResponseWriter, part)
		total += n
		whole.N -= n
		if err != nil || part.N > 0 || whole.N == 0 {
			return total, err
		}
	}
}

// Unwrap lets http.ResponseController through.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher for handlers that ask by type.
func (w *recorder) Flush() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	http.NewResponseController(w.ResponseWriter).Flush()
}
