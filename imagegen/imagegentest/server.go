package imagegentest

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"lessonkit.example/imagegen"
)

// Mode is how the fake responds to requests for images.
type Mode int

// The modes.
const (
	Sync  Mode = iota // with image data
	Async             // with a task
	ByURL             // with URLs
)

// APIKey is the API key the fake accepts.
const APIKey = "test-key-3f9a"

// Options configures a fake. The zero value is a synchronous service.
type Options struct {
	Mode Mode

	// Duration is how long a task takes, half of it pending and half processing. Defaults to 25 s.
	Duration time.Duration

	// Image returns image number index of a request. Defaults to a small PNG of the requested
	// ratio.
	Image func(p Post, index int) []byte
}

// Server is a running fake. Its methods are safe for concurrent use.
type Server struct {
	t      testing.TB
	o      Options
	http   *http.Server
	memory *listener

	mu     sync.Mutex
	script []Step
	state  Counts
	tasks  map[string]*task
	files  map[string]*file
	closed chan struct{}
}

// Counts is what the fake has received.
type Counts struct {
	Requests    int         // requests for images that arrived, at least in part
	Generations int         // generations started; each is charged
	Polls       []time.Time // when tasks were polled
	Files       int         // results fetched
	Posts       []Post      // requests for images that were read completely
}

// Post is a request for images as the fake read it.
type Post struct {
	Fields map[string]string // of the form, or of the JSON object, numbers in decimal
	Files  []File
}

// File is a received reference image.
type File struct {
	Name, Type string
	Data       []byte
}

// New starts a fake in memory. It is closed when the test ends.
func New(t testing.TB, o Options) *Server {
	o.Duration = cmp.Or(o.Duration, 25*time.Second)
	if o.Image == nil {
		o.Image = defaultImage
	}
	s := &Server{t: t, o: o, memory: newListener(), tasks: map[string]*task{}, files: map[string]*file{},
		closed: make(chan struct{})}
	s.http = newServer(t, s.handler(), s.memory)
	t.Cleanup(func() { close(s.closed) }) // before the server waits for its handlers
	return s
}

// Script sets what happens to the next requests for images, one Step each. Further requests
// succeed.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Counts returns what the fake has received so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.state
	c.Polls, c.Posts = slices.Clone(c.Polls), slices.Clone(c.Posts)
	return c
}

// Listen also serves the fake on a loopback port, and returns its base URL there.
func (s *Server) Listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatalf("imagegentest: %v", err)
	}
	go s.http.Serve(l)
	return "http://" + l.Addr().String()
}

// Config returns the configuration of a client for the fake in memory, with its API key.
func (s *Server) Config() imagegen.Config {
	h := newHTTPClient(s.t, s.dial)
	return imagegen.Config{BaseURL: "http://images.test", APIKey: APIKey, HTTPClient: h, FetchClient: h}
}

// Client returns a client for the fake. edit, if not nil, may change its configuration.
func (s *Server) Client(edit func(*imagegen.Config)) *imagegen.Client {
	c := s.Config()
	if edit != nil {
		edit(&c)
	}
	client, err := imagegen.New(c)
	if err != nil {
		s.t.Fatalf("imagegentest: %v", err)
	}
	return client
}

func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	refused := len(s.script) > 0 && s.script[0].kind == refuse
	if refused {
		s.script = s.script[1:]
	}
	s.mu.Unlock()
	if refused {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	return s.memory.dial(ctx)
}
