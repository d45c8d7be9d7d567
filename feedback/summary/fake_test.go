package summary

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// lessonsOf returns lessons with these texts.
func lessonsOf(texts ...string) (out []feedback.SummaryLesson) {
	for _, t := range texts {
		out = append(out, feedback.SummaryLesson{Text: t})
	}
	return out
}

// pipes is a listener in memory, for servers in a synctest bubble.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p.conns); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "endpoint"} }

// fake starts an endpoint with the handler h, and returns a client that only connects to it.
func fake(t *testing.T, h func(attempt int, w http.ResponseWriter, r *http.Request)) *http.Client {
	p := pipes{make(chan net.Conn)}
	var attempts atomic.Int32
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h(int(attempts.Add(1)), w, r)
	}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go func() { _ = server.Serve(p) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		client, srv := net.Pipe()
		select {
		case p.conns <- srv:
			return client, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return &http.Client{Transport: transport}
}

func newChat(t *testing.T, cfg ChatConfig) (*Chat, *bytes.Buffer) {
	var logged bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if cfg.URL == "" {
		cfg.URL = testURL
	}
	cfg.APIKey, cfg.Model = testKey, "test-model"
	c, err := NewChat(cfg)
	require.NoError(t, err)
	return c, &logged
}
