package asrtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Fault is a fault of a server.
type Fault string

// The faults that SetFault sets. Not every one makes sense for every server.
const (
	NoFault      Fault = ""
	Loading      Fault = "loading"      // the model is being loaded
	Busy         Fault = "busy"         // 429 with Retry-After: 7
	BusyDate     Fault = "busy date"    // 503 with Retry-After as a date in the future
	Gateway      Fault = "gateway"      // 502 with an HTML page
	GatewaySlow  Fault = "gateway slow" // 504: a proxy timed out, the recogniser still works
	Failure      Fault = "failure"      // 500
	ErrorIn200   Fault = "error in 200" // 200 with an error inside
	Hang         Fault = "hang"         // no answer
	Cut          Fault = "cut"          // an incomplete answer
	Reset        Fault = "reset"        // the connection is closed without an answer
	Redirect     Fault = "redirect"     // 302 to another path
	HTML         Fault = "html"         // 200 with an HTML page
	Unauthorized Fault = "unauthorized" // 401
	NoModel      Fault = "no model"     // the model does not exist
	TooLarge     Fault = "too large"    // 413
	Unprocessed  Fault = "unprocessed"  // 422
	Gone         Fault = "gone"         // 404 for the path
	Endlessly    Fault = "endless"      // an answer that does not end
	NoText       Fault = "no text"      // 200 and JSON without text
)

// Request is a recording that a server has received.
type Request struct {
	Path          string
	Authorization string
	ContentLength int64    // -1: chunked
	Names         []string // of the parts of a form, in order
	Fields        map[string]string
	FileName      string
	FileType      string
	Size          int64
}

// Server is a fake server. It is safe for concurrent use.
type Server struct {
	// URL is the address.
	URL string

	dialect Dialect
	http    *httptest.Server
	done    chan struct{} // closed by Close, ends requests that hang
	close   func()

	mu       sync.Mutex
	fault    Fault
	requests []Request
	paths    []string
	key      string
	models   []string
}

// NewServer starts a fake that speaks the dialect, until the test ends.
func NewServer(t testing.TB, d Dialect) *Server {
	t.Helper()
	return start(t, &Server{dialect: d, models: []string{"tiny"}}, (*Server).serveLocal)
}

// NewCustomServer starts a fake that answers with handle, until the test ends. For faults, handle
// calls ServeFault; what it passes to Received, Requests returns.
func NewCustomServer(t testing.TB, handle func(s *Server, w http.ResponseWriter, r *http.Request)) *Server {
	t.Helper()
	return start(t, &Server{}, handle)
}

func start(t testing.TB, s *Server, handle func(*Server, http.ResponseWriter, *http.Request)) *Server {
	s.done = make(chan struct{})
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths = append(s.paths, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		handle(s, w, r)
	}))
	s.URL = s.http.URL
	s.close = sync.OnceFunc(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	t.Cleanup(s.close)
	return s
}

// Close stops the server and ends requests that hang. It may be called more than once.
func (s *Server) Close() { s.close() }

// SetFault sets the fault of all further requests, until another fault or NoFault is set.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Fault returns the current fault.
func (s *Server) Fault() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// SetKey makes the server require this bearer token.
func (s *Server) SetKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// SetModels sets the models of the server. The default is one, "tiny".
func (s *Server) SetModels(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = names
}

// Received records a recording.
func (s *Server) Received(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// Requests returns the recordings received so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Paths returns the method and path of all requests so far, oldest first: "GET /health".
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths)
}

// ServeFault answers with the current fault if it is one that is the same for every server, and
// reports whether it did. The body of the request must have been read.
func (s *Server) ServeFault(w http.ResponseWriter, r *http.Request) bool {
	page := "<!DOCTYPE html><html><head><title>Error</title></head><body>nginx</body></html>"
	switch s.Fault() {
	case Busy:
		w.Header().Set("Retry-After", "7")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	case BusyDate:
		w.Header().Set("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT")
		http.Error(w, "come back", http.StatusServiceUnavailable)
	case Gateway:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, page)
	case GatewaySlow:
		w.WriteHeader(http.StatusGatewayTimeout)
		_, _ = io.WriteString(w, page)
	case Hang:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	case Cut:
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"text": "this answer bre`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Reset:
		panic(http.ErrAbortHandler)
	case Redirect:
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	case HTML:
		_, _ = io.WriteString(w, page)
	case Unauthorized:
		http.Error(w, `{"detail":"wrong key"}`, http.StatusUnauthorized)
	case TooLarge:
		http.Error(w, `{"error":"too large"}`, http.StatusRequestEntityTooLarge)
	case Endlessly:
		_, _ = io.WriteString(w, `{"text":"`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				break
			}
		}
	default:
		return false
	}
	return true
}
