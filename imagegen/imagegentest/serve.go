package imagegentest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Serve serves h in memory until the test ends, and returns a client that connects to it for any
// host.
func Serve(t testing.TB, h http.Handler) *http.Client {
	t.Helper()
	l := newPipeListener()
	var serving sync.WaitGroup
	counted := func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Done()
		h.ServeHTTP(w, r)
	}
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(counted)}
	go server.Serve(l)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		serving.Wait()
	})
	return &http.Client{Transport: transport}
}
