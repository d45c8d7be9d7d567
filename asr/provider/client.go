package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"lessonkit.example/asr"
)

// NewTransport returns a transport for sending recordings, which waits for an answer until the
// context of the request ends: see [Base.TimeLimit]. Each request gets its own connection: an idle
// one saves nothing compared with the recognition, may be closed by the server just when the next
// recording is sent on it, and occupies one of the few threads of some servers.
func NewTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &conn{Conn: c, received: make(chan struct{})}, nil
		},
		TLSHandshakeTimeout: 10 * time.Second,
		DisableKeepAlives:   true,
	}
}

// Do sends a request; redirects are not followed. Its error is the *asr.Error from reading the
// recording, else one of class ErrUnavailable, or of class ErrLost if the connection broke after
// the request had been sent.
func Do(op string, transport http.RoundTripper, req *http.Request) (*http.Response, error) {
	var sent atomic.Bool // also by a goroutine that outlives the call
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	resp, err := transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		return resp, nil
	}
	if e, ok := errors.AsType[*asr.Error](err); ok {
		return nil, e
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		err = fmt.Errorf("it does not speak TLS; perhaps it expects http://: %w", err)
	}
	if before, _, ok := strings.Cut(err.Error(), "malformed"); ok { // net/http repeats the line, which may be text
		err = errors.New(before + "malformed answer")
	}
	e := &asr.Error{Op: op, Class: asr.ErrUnavailable, Message: "no answer from the server", Err: err}
	if sent.Load() {
		e.Class = asr.ErrLost
		if req.Context().Err() == nil {
			e.Message = "the server broke off without an answer"
		}
	}
	return nil, e
}

// conn reports a broken write only after the answer of the server has been read. A server that
// rejects a recording early, because it is too large or the key is wrong, answers and closes the
// connection while the recording is still being sent. Otherwise net/http would often return the
// write error instead of the answer.
type conn struct {
	net.Conn
	received chan struct{} // closed after the first read
	once     sync.Once
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.once.Do(func() { close(c.received) })
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		select {
		case <-c.received:
		case <-time.After(time.Second):
		}
		time.Sleep(50 * time.Millisecond) // until net/http has parsed the answer
	}
	return n, err
}
