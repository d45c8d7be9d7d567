// Package transport is what exchangers share on the way to their platforms.
package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"

	"lessonkit.example/auth"
)

// Error classifies an error of net/http. It keeps the text only of errors that contain nothing but
// host names: a *url.Error contains the address, perhaps with a secret, and an error about an
// invalid answer contains a part of it, which may repeat the request.
func Error(ctx context.Context, err error) *auth.ExchangeError {
	var timeout net.Error
	if ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout() {
		return &auth.ExchangeError{Kind: auth.ErrPlatformTimeout}
	}
	e := &auth.ExchangeError{Kind: auth.ErrPlatform}
	var op *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		e.Message, e.Err = "cannot find the platform", dns
	case errors.As(err, &op):
		e.Message, e.Err = "cannot reach the platform", op
	case errors.As(err, &certificate):
		e.Message, e.Err = "the platform's certificate is not valid", certificate
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = "connection closed"
	default:
		e.Message = "connection closed, or the answer is not HTTP"
	}
	return e
}

// IsLoopback reports whether a host is this machine, to which secrets may be sent without https.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// NoRedirects is a CheckRedirect of http.Client: a redirect would send a code elsewhere.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
