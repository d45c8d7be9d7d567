package miniapp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"lessonkit.example/auth"
)

// maxAnswerBytes bounds what is read of an answer; real ones have a few hundred
// bytes.
const maxAnswerBytes = 64 << 10

// Client exchanges login codes at one platform. It is an [auth.Exchanger],
// safe for concurrent use.
type Client struct {
	platform string
	http     *http.Client

	// config is behind a function because fmt prints what it finds in fields.
	config func() Config
}

var _ auth.Exchanger = (*Client)(nil)

// New makes a Client. It fails where the configuration is not complete.
func New(c Config) (*Client, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	base := c.Transport
	if base == nil {
		base, _ = http.DefaultTransport.(*http.Transport)
	}
	if base == nil { // a program replaced it
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	transport := base.Clone()
	// A GET whose reused connection dies is repeated by net/http, and the second
	// one finds its code used. A connection that is new is never in doubt.
	transport.DisableKeepAlives = true
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.ForceAttemptHTTP2 = false
	// A transport that has spoken HTTP/2 before still offers it to servers.
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	if transport.TLSClientConfig != nil {
		transport.TLSClientConfig.NextProtos = nil // Clone has copied the configuration
	}
	return &Client{
		platform: c.platform(),
		config:   func() Config { return c },
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Exchange implements [auth.Exchanger]. It sends the code once, whatever
// happens. Its errors are [auth.ExchangeError]s, and ctx's error when ctx was
// canceled.
func (c *Client) Exchange(ctx context.Context, code string) (auth.Identity, error) {
	if code == "" {
		return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrCodeMissing}
	}
	status, body, err := c.send(ctx, code)
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return auth.Identity{}, ctx.Err()
		}
		return auth.Identity{}, c.transportError(ctx, err)
	}
	config := c.config()
	answer, err := config.Dialect.read(status, body)
	if err != nil {
		var refused *auth.ExchangeError
		if errors.As(err, &refused) {
			refused.Message = c.clean(refused.Message, code)
		}
		return auth.Identity{}, err
	}
	id := auth.Identity{Platform: c.platform, AppID: config.AppID, Subject: answer.subject, UnionID: answer.unionID}
	if !id.Valid() {
		return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrPlatform, Message: "user identifier is too long or not printable"}
	}
	return id, nil
}

// send makes the one request and reads the answer.
func (c *Client) send(ctx context.Context, code string) (status int, body []byte, err error) {
	req, err := c.config().request(ctx, code)
	if err != nil {
		return 0, nil, errors.New("cannot make the request")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	return resp.StatusCode, body, err
}

// transportError classifies a failed request. Its text is kept only for kinds
// of faults known to quote nothing but host names: a *url.Error quotes the
// address, with the secret in it, and net/http quotes what it cannot read of an
// answer, which may repeat the request.
func (c *Client) transportError(ctx context.Context, err error) error {
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
		e.Message, e.Err = "platform cannot prove that it is itself", certificate
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = "connection cut"
	default:
		e.Message = "connection cut, or the answer is not HTTP"
	}
	return e
}

// maxMessageBytes bounds how much of a platform's text goes into an error.
const maxMessageBytes = 200

// clean makes foreign text fit for a log line: short, printable, and without
// the secret and the code, should it repeat them.
func (c *Client) clean(s, code string) string {
	secret := c.config().Secret
	s = strings.NewReplacer(secret, "[secret]", url.QueryEscape(secret), "[secret]", code, "[code]", url.QueryEscape(code), "[code]").Replace(s)
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxMessageBytes {
		s = strings.ToValidUTF8(s[:maxMessageBytes], "") + "…"
	}
	return s
}
