package imagegentest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Serve serves h in memory until the test ends, and returns a client that connects to it for any
// host.
func Serve(t testing.TB, h http.Handler) *http.Client {
	t.Helper()
	l := newListener()
	newServer(t, h, l)
	return newHTTPClient(t, func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) })
}

// newServer serves h on l until the test ends; handlers have returned then, too.
func newServer(t testing.TB, h http.Handler, l net.Listener) *http.Server {
	config := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	server := &httptest.Server{Listener: l, Config: config}
	server.Start()
	t.Cleanup(func() {
		config.Close() // all listeners and connections
		server.Close() // waits for the handlers
	})
	return config
}

func newHTTPClient(t testing.TB, dial func(context.Context, string, string) (net.Conn, error)) *http.Client {
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// listener accepts connections made in memory.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *listener) dial(ctx context.Context) (net.Conn, error) {
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

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
