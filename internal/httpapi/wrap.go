package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// WrapOptions are those of package feedbackhttp, which describes them.
type WrapOptions struct {
	Logger         *slog.Logger
	Observe        func(method, route string, status int, took time.Duration)
	Trace          func(r *http.Request) (context.Context, func(route string, status int))
	TrustedProxies []netip.Prefix
	Probes         []string
}

// Wrap is that of package feedbackhttp, which describes it. The line in the log has the wildcards
// of the route's path, the bytes of both bodies and the client's address. A query that cannot be
// parsed is answered 400; names that begin with "_", which clients add to the query of a GET to
// avoid caches, are removed. JSON is not stored by caches unless the handler says otherwise.
func Wrap(h http.Handler, o WrapOptions) http.Handler {
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := &requestInfo{id: requestID(r), started: time.Now()}
		w.Header().Set("X-Request-Id", info.id)
		r = r.WithContext(context.WithValue(r.Context(), infoKey{}, info))
		endTrace := func(int) {}
		if o.Trace != nil {
			ctx, end := o.Trace(r)
			r = r.WithContext(ctx)
			var once sync.Once
			endTrace = func(status int) { once.Do(func() { end(r.Pattern, status) }) }
			defer endTrace(0) // unless it has ended
		}
		rec := &recorder{ResponseWriter: w, request: r, endTrace: endTrace}
		defer rec.limitWrite() // for what is still buffered
		if r.Body != nil && r.Body != http.NoBody {
			limitBody(w, unreadBody)
			defer limitBody(w, leftBody)
			rec.body = &body{ReadCloser: r.Body}
			r.Body = rec.body
		}
		defer func() {
			cut := false
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler {
					panic(v)
				}
				if c, ok := v.(cutError); ok {
					noteError(r.Context(), c.error)
				} else {
					noteError(r.Context(), fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
				}
				if cut = rec.status != 0; !cut {
					WriteError(rec, r, Internal(nil))
				}
			}
			status := cmp.Or(rec.status, http.StatusOK)
			if o.Observe != nil {
				o.Observe(r.Method, r.Pattern, status, time.Since(info.started))
			}
			var in int64
			if rec.body != nil {
				in = rec.body.read
			}
			info.log(log, o, r, status, in, rec.written)
			if cut {
				// Too late for a problem: cut the connection, so that the client does not take
				// half an answer for a whole one.
				panic(http.ErrAbortHandler)
			}
			endTrace(status)
		}()
		if err := cleanQuery(r); err != nil {
			WriteError(rec, r, err)
			return
		}
		h.ServeHTTP(rec, r)
	})
}

// cleanQuery removes names that begin with "_" from the query of a GET.
func cleanQuery(r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return Error(http.StatusBadRequest, codeOf(http.StatusBadRequest),
			"the query of the address cannot be parsed: a % must be followed by two hexadecimal digits, "+
				"and parameters are separated by &")
	}
	if r.Method != http.MethodGet {
		return nil
	}
	names := len(query)
	maps.DeleteFunc(query, func(name string, _ []string) bool { return strings.HasPrefix(name, "_") })
	if len(query) == names {
		return nil
	}
	clean := *r.URL
	clean.RawQuery = query.Encode()
	r.URL = &clean
	return nil
}

// body keeps the error of a body that cannot be read, which is the client's fault.
type body struct {
	io.ReadCloser
	read int64 // bytes
	err  error
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

const (
	// unreadBody is how long a body may take whose handler sets no deadline.
	unreadBody = time.Minute
	// leftBody is how long the rest of a body may take after its handler has returned.
	leftBody = 5 * time.Second
	// unreadAnswer is how long a client may take to accept the next part of an answer.
	unreadAnswer = time.Minute
)

// limitBody sets a deadline for the body. The server reads what a handler has left of it before it
// sends the answer: a client that is refused and never sends its body would hold the connection.
func limitBody(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(d)) // not every transport has deadlines
}

// cutError is the value of the panic by Cut.
type cutError struct{ error }

// Cut ends a request whose answer has begun and cannot be completed: it panics, and the connection
// is closed, so that the client does not take a part of the answer for all of it. err is logged.
func Cut(err error) { panic(cutError{err}) }

// WithRequestID is that of package feedbackhttp.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, infoKey{}, &requestInfo{id: id})
}

// RequestID returns the id that [Wrap] gave the request, or that of [WithRequestID], or "".
func RequestID(ctx context.Context) string {
	if info := infoOf(ctx); info != nil {
		return info.id
	}
	return ""
}

// Annotate adds an attribute to the request's line in the log, in place of one with its key.
func Annotate(ctx context.Context, attr slog.Attr) {
	if info := infoOf(ctx); info != nil {
		info.mu.Lock()
		defer info.mu.Unlock()
		same := func(a slog.Attr) bool { return a.Key == attr.Key }
		info.attrs = append(slices.DeleteFunc(info.attrs, same), attr)
	}
}

// noteError adds an error, unless it is nil, to the request's line in the log.
func noteError(ctx context.Context, err error) {
	if info := infoOf(ctx); info != nil && err != nil {
		info.mu.Lock()
		defer info.mu.Unlock()
		info.err = errors.Join(info.err, err)
	}
}

// requestInfo collects what is logged of a request.
type requestInfo struct {
	id      string
	started time.Time

	mu    sync.Mutex
	attrs []slog.Attr
	err   error
}

type infoKey struct{}

func infoOf(ctx context.Context) *requestInfo {
	info, _ := ctx.Value(infoKey{}).(*requestInfo)
	return info
}

func (i *requestInfo) log(log *slog.Logger, o WrapOptions, r *http.Request, status int, in, out int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	level := slog.LevelInfo
	switch {
	case i.err != nil && status >= http.StatusInternalServerError:
		level = slog.LevelError
	case i.err != nil:
		level = slog.LevelWarn
	case slices.Contains(o.Probes, r.Pattern) && status < http.StatusBadRequest:
		level = slog.LevelDebug
	}
	if !log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", i.id),
		slog.String("method", r.Method),
		slog.String("route", r.Pattern),
		slog.Int("status", status),
		slog.Float64("took_ms", float64(time.Since(i.started).Microseconds())/1000),
		slog.Int64("bytes_in", in),
		slog.Int64("bytes_out", out),
		slog.String("client",
			TrustedProxies(o.TrustedProxies).Client(r.RemoteAddr, r.Header["X-Forwarded-For"]).String()),
	}
	// A regular expression for the wildcards would cost as much as the rest of the line.
	for segment := range strings.SplitSeq(r.Pattern, "/") {
		if name, isWildcard := strings.CutPrefix(segment, "{"); isWildcard {
			name = strings.TrimSuffix(name, "}")
			if value := r.PathValue(name); isPlainID(value) {
				attrs = append(attrs, slog.String(name, value))
			}
		}
	}
	attrs = append(attrs, i.attrs...)
	if i.err != nil {
		attrs = append(attrs, slog.String("error", i.err.Error()))
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
}

// isPlainID reports whether an id of a client is accepted and logged: the log must not be broken or
// flooded.
func isPlainID(id string) bool {
	isOther := func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("._-", c)
	}
	return id != "" && len(id) <= 64 && strings.IndexFunc(id, isOther) < 0
}

func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); isPlainID(id) {
		return id
	}
	return uuid.Must(uuid.NewV7()).String()
}

// recorder records the status, replaces the mux's plain-text 404 and 405 by problems, and sets a
// deadline for each write.
type recorder struct {
	http.ResponseWriter
	request  *http.Request
	endTrace func(status int)
	body     *body // of the request; nil if it has none
	status   int
	written  int64     // bytes of the body
	limited  time.Time // when the deadline of writes was set
	replaced bool      // the handler's body is discarded
}

func (w *recorder) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.limitWrite()
	if status == http.StatusInternalServerError && w.body != nil && w.body.err != nil {
		// Huma's answer to a body that it cannot read, such as one with malformed chunks.
		w.status, w.replaced = http.StatusBadRequest, true
		WriteError(replacement{w}, w.request, Error(w.status, codeOf(w.status), "the body cannot be read"))
		return
	}
	if status >= 200 {
		w.status = status
		setCommonHeaders(w.Header())
	}
	plain := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
	if plain && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		w.replaced = true
		detail := "there is nothing at this path"
		if status == http.StatusMethodNotAllowed {
			detail = "the methods of this path are " + w.Header().Get("Allow")
		}
		WriteError(replacement{w}, w.request, Error(status, codeOf(status), detail))
		return
	}
	if w.Header().Get("Content-Type") == "text/event-stream" {
		w.endTrace(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// setCommonHeaders sets the headers that every answer has, unless its handler has set them.
func setCommonHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" && strings.HasSuffix(h.Get("Content-Type"), "json") {
		h.Set("Cache-Control", "no-store")
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.replaced {
		return len(p), nil
	}
	w.limitWrite()
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	return n, err
}

// replacement writes the answer that takes the place of a handler's.
type replacement struct{ *recorder }

func (w replacement) WriteHeader(status int) { w.ResponseWriter.WriteHeader(status) }

func (w replacement) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	return n, err
}

// limitWrite sets a deadline for the next write: a client that reads nothing would hold its
// connection and the file it is reading. One that was set within the last second is kept.
func (w *recorder) limitWrite() {
	now := time.Now()
	if now.Sub(w.limited) < time.Second {
		return
	}
	w.limited = now
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(now.Add(unreadAnswer))
}

// Unwrap lets http.ResponseController through.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
