package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
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
// the request had been sent. Its text does not contain addresses and names of hosts, which users of
// a page need not know; what it wraps does, for errors.As.
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
	err = hideAddress(err, req.URL.Hostname())
	e := &asr.Error{Op: op, Class: asr.ErrUnavailable, Message: "no answer from the server", Err: err}
	if sent.Load() {
		e.Class = asr.ErrLost
		if req.Context().Err() == nil {
			e.Message = "the server broke off without an answer"
		}
	}
	return nil, e
}

// hidden is an error whose text does not contain the address.
type hidden struct {
	text string
	error
}

func (h hidden) Error() string { return h.text }
func (h hidden) Unwrap() error { return h.error }

// hideAddress returns err with a text without the addresses in network errors, without host and
// without lines of the answer.
func hideAddress(err error, host string) error {
	text := err.Error()
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Err != nil {
		text = strings.ReplaceAll(text, e.Error(), e.Op+": "+hideAddress(e.Err, host).Error())
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		reason := "the host name could not be resolved"
		if e.IsNotFound {
			reason = "no such host"
		}
		text = strings.ReplaceAll(text, e.Error(), reason)
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		text = strings.ReplaceAll(text, e.Error(), "the certificate is for other host names")
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		text = strings.ReplaceAll(text, e.Error(), "it does not speak TLS; perhaps it expects http://")
	}
	if before, _, ok := strings.Cut(text, "malformed"); ok { // net/http repeats the line, which may be text
		text = before + "malformed answer"
	}
	if host != "" {
		text = strings.ReplaceAll(text, host, "the server")
	}
	return hidden{text, err}
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
