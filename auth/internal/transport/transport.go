// Package transport classifies what fails between an exchanger and its platform.
package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"

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
