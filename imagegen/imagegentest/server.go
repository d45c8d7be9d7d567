package imagegentest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"lessonkit.example/imagegen"
)

// Mode is how the service answers requests for images.
type Mode int

// The modes.
const (
	Sync      Mode = iota // image data in the answer
	Async                 // a task
	ByURL                 // addresses in the answer
	Alternate             // Sync and Async in turns
)

// Key is the API key the fake accepts.
const Key = "test-key-3f9a"

// FilesHost is the host name under which results lie when Options.OtherHost is set.
const FilesHost = "files.test"

// Options describe a fake. The zero value is a plain synchronous service.
type Options struct {
	Mode Mode

	// TLS serves https with a certificate for the fake's host that Config trusts.
	TLS bool

	// Images is how many images a request without n gets. Defaults to 1.
	Images int

	// Duration is how long a task takes, half of it pending, half processing. Defaults to 25 s.
	Duration time.Duration

	// Image makes image number index of a request. Defaults to a small PNG of the ratio asked for.
	Image func(p Post, index int) []byte

	// OtherHost puts results on the host FilesHost, where the key must not appear.
	OtherHost bool

	// Mirrors is the number of addresses for each image. Defaults to 1.
	Mirrors int

	// Hasty lets clients poll as often as they like.
	Hasty bool
}

// Server is a running fake. Its methods may be called while it serves.
type Server struct {
	t    testing.TB
	o    Options
	http *http.Server
	cert tls.Certificate
	pool *x509.CertPool
	pipe *pipeListener

	mu     sync.Mutex
	script []Step
	state  counts
	tasks  map[string]*task
	files  map[string]*file
	closed chan struct{}

	serving sync.WaitGroup // handlers
}

// Counts are what the fake has seen.
type Counts struct {
	Requests    int         // requests for images that arrived, at least in part
	Generations int         // generations started; each is charged
	Polls       []time.Time // when tasks were asked about
	Files       int         // results fetched
	Dials       int         // connections asked for
	Posts       []Post      // requests for images that were read whole
}

type counts = Counts

// Post is a request for images as the fake understood it.
type Post struct {
	Path           string
	Header         http.Header
	Fields         map[string]string // of the form, or of the JSON object, numbers in decimal
	Files          []File
	ContentLength  int64
	IdempotencyKey string
}

// File is a reference image that arrived.
type File struct {
	Name, Type string
	Data       []byte
}

// New starts a fake in memory. It is closed when the test ends.
func New(t testing.TB, o Options) *Server {
	s := &Server{t: t, o: o, pipe: newPipeListener(), tasks: map[string]*task{}, files: map[string]*file{}, closed: make(chan struct{})}
	if o.Images == 0 {
		s.o.Images = 1
	}
	if o.Duration == 0 {
		s.o.Duration = 25 * time.Second
	}
	if o.Image == nil {
		s.o.Image = defaultImage
	}
	if o.Mirrors == 0 {
		s.o.Mirrors = 1
	}
	s.http = &http.Server{Handler: s.handler(), ErrorLog: log.New(io.Discard, "", 0)}
	if o.TLS {
		s.cert, s.pool = certificate(t)
	}
	s.serve(s.pipe)
	t.Cleanup(func() {
		close(s.closed)
		s.http.Close()
		s.serving.Wait()
	})
	return s
}

func (s *Server) serve(l net.Listener) {
	if s.o.TLS {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{s.cert}})
	}
	go s.http.Serve(l)
}

// Script sets what happens to the next requests for images, one Step each; after the last one all goes well.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Counts returns what the fake has seen so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.state
	c.Polls = append([]time.Time(nil), c.Polls...)
	c.Posts = append([]Post(nil), c.Posts...)
	return c
}

// URL is the base URL of the fake in memory; only the transport of Config reaches it.
func (s *Server) URL() string {
	if s.o.TLS {
		return "https://images.test"
	}
	return "http://images.test"
}

// Listen opens the fake on a loopback port as well, and returns its base URL there.
func (s *Server) Listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatalf("imagegentest: %v", err)
	}
	s.serve(l)
	if s.o.TLS {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// Config returns a configuration that reaches the fake in memory, with its key.
func (s *Server) Config() imagegen.Config {
	t := &http.Transport{
		DialContext:     s.dial,
		TLSClientConfig: &tls.Config{RootCAs: s.pool},
	}
	s.t.Cleanup(t.CloseIdleConnections)
	h := &http.Client{Transport: t}
	return imagegen.Config{BaseURL: s.URL(), APIKey: Key, HTTPClient: h, FetchClient: h}
}

// Client returns a client of the fake, after edit, if not nil, has changed its configuration.
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
	s.state.Dials++
	var fault kind
	if len(s.script) > 0 && (s.script[0].kind == refuse || s.script[0].kind == tlsEOF) {
		fault = s.script[0].kind
		s.script = s.script[1:]
	}
	s.mu.Unlock()
	switch fault {
	case refuse:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	case tlsEOF:
		client, server := net.Pipe()
		go func() {
			_, _ = server.Read(make([]byte, 1024))
			server.Close()
		}()
		return client, nil
	}
	return s.pipe.dial(ctx)
}

// pipeListener accepts connections made in memory.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// certificate makes a certificate for the hosts of the fake, and a pool that trusts it.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("imagegentest: %v", err)
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		DNSNames: []string{"images.test", FilesHost}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatalf("imagegentest: %v", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("imagegentest: %v", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
