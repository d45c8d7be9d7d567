package gateway

import (
	_ "embed"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"lessonkit.example/imagegen"
)

//go:embed openapi.json
var openAPI []byte

// Gateway is an http.Handler that serves the image-generation interface below /v1, and its
// description at /openapi.json. Mount it at the root, or below a prefix that http.StripPrefix
// removes and Config.PublicURL includes.
type Gateway struct {
	c       Config
	mux     *http.ServeMux
	keyless bool // the empty key is accepted

	mu       sync.Mutex
	limiters map[string]*rate.Limiter
	uploads  map[string]int // requests being read, by caller
}

// New returns a Gateway.
func New(c Config) (*Gateway, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Gateway{c: c, mux: http.NewServeMux(), limiters: map[string]*rate.Limiter{}, uploads: map[string]int{}}
	_, g.keyless = c.Keys("")
	g.handle("POST", "/v1/images/generations", g.authorized(g.generation))
	g.handle("POST", "/v1/images/edits", g.authorized(g.edit))
	g.handle("GET", "/v1/tasks/{id}", g.authorized(g.task))
	g.handle("GET", "/v1/files/{name}", g.file)
	g.handle("GET", "/v1/models", g.authorized(g.models))
	g.handle("GET", "/v1/models/{model}", g.authorized(g.model))
	g.handle("GET", "/openapi.json", describe)
	g.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(404, "not_found", "no such path: "+r.URL.Path+"; see /openapi.json").write(w)
	})
	return g, nil
}

// handle registers the handler of a path, which has one method. GET includes HEAD.
func (g *Gateway) handle(method, path string, h http.HandlerFunc) {
	g.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method || r.Method == "HEAD" && method == "GET" {
			h(w, r)
			return
		}
		w.Header().Set("Allow", method)
		problem(405, "method_not_allowed", "allowed methods: "+method).write(w)
	})
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	rec := &recorder{ResponseWriter: w, status: http.StatusOK, conn: http.NewResponseController(w)}
	body := &deadlineBody{ReadCloser: r.Body, conn: rec.conn, ended: r.Body == nil || r.Body == http.NoBody}
	if !body.ended {
		body.limitRest()
		r.Body = body
	}
	g.mux.ServeHTTP(rec, r)
	if !body.ended {
		body.limitRest()
	}
	g.c.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("method", r.Method),
		slog.String("path", r.Pattern), slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes),
		slog.Duration("elapsed", time.Since(began)), slog.String("caller", rec.caller))
}

const idleTimeout = time.Minute // of a caller that neither sends nor receives a byte

// deadlineBody ends a request body that stays idle.
type deadlineBody struct {
	io.ReadCloser
	conn  *http.ResponseController
	ended bool // or could not be read
}

// limitRest limits the time for what is left of a body, which the server reads before it responds,
// so that it can still respond.
func (b *deadlineBody) limitRest() { _ = b.conn.SetReadDeadline(time.Now().Add(idleTimeout / 2)) }

func (b *deadlineBody) Read(p []byte) (int, error) {
	_ = b.conn.SetReadDeadline(time.Now().Add(idleTimeout)) // some servers do not support deadlines
	n, err := b.ReadCloser.Read(p)
	b.ended = err != nil
	if err == io.EOF {
		_ = b.conn.SetReadDeadline(time.Time{}) // the response may take longer
	}
	return n, err
}

// recorder records the response for the log, and ends a response that stays idle.
type recorder struct {
	http.ResponseWriter
	conn   *http.ResponseController
	status int
	bytes  int64
	caller string
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	_ = r.conn.SetWriteDeadline(time.Now().Add(idleTimeout))
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is used by http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

type handler func(w http.ResponseWriter, r *http.Request, caller string) *failure

func (g *Gateway) authorized(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			key = ""
		}
		if f := g.checkOrigin(r); g.keyless && f != nil {
			f.write(w)
			return
		}
		caller, ok := g.c.Keys(key)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(401, "invalid_key", "a valid key is required: Authorization: Bearer KEY").write(w)
			return
		}
		w.(*recorder).caller = caller
		if f := h(w, r, caller); f != nil {
			if f.cause != nil {
				g.c.Logger.ErrorContext(r.Context(), "request failed", "code", f.Code, "error", f.cause)
			}
			f.write(w)
		}
	}
}

// checkOrigin refuses what a web page could do without its visitor knowing: requests of other sites
// except GET and HEAD, whose responses their pages cannot read, and all those of a site whose name
// leads to the gateway's address (DNS rebinding).
func (g *Gateway) checkOrigin(r *http.Request) *failure {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return problem(403, "cross_origin", "requests of other sites are refused")
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	public, _ := url.Parse(g.c.PublicURL) // it is valid
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil && host != "localhost" && !strings.EqualFold(host, public.Hostname()) {
		return problem(403, "unknown_host", "without keys, the host must be an IP address, localhost or that of the "+
			"public URL")
	}
	return nil
}

func describe(w http.ResponseWriter, _ *http.Request) { writeBody(w, http.StatusOK, openAPI) }

// describeModel describes a model as OpenAI does; nothing but its name is known.
func describeModel(name string) any {
	return map[string]any{"id": name, "object": "model", "created": 0, "owned_by": "image-gateway"}
}

// models lists the model of the interface. Requests may name any.
func (g *Gateway) models(w http.ResponseWriter, _ *http.Request, _ string) *failure {
	list := []any{describeModel(imagegen.DefaultModel)}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
	return nil
}

func (g *Gateway) model(w http.ResponseWriter, r *http.Request, _ string) *failure {
	writeJSON(w, http.StatusOK, describeModel(r.PathValue("model")))
	return nil
}

const retryLater = 10 * time.Second // Retry-After when the wait is not known

// upload admits a request for images or returns why not, before anything of the request is read.
// done must be called, at least once, when the request has been read.
func (g *Gateway) upload(caller string) (done func(), f *failure) {
	g.mu.Lock()
	defer g.mu.Unlock()
	limiter := g.limiters[caller]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Limit(g.c.PerMinute/60), max(int(g.c.PerMinute/6), 10))
		g.limiters[caller] = limiter
	}
	now := time.Now()
	r := limiter.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return nil, problem(429, "rate_limited", "too many requests").after(wait)
	}
	if g.uploads[caller] >= maxUploads {
		return nil, problem(429, "too_many_requests", "too many requests at a time").after(retryLater)
	}
	g.uploads[caller]++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.uploads[caller]--
	}), nil
}
