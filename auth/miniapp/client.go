package miniapp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"lessonkit.example/auth"
	"lessonkit.example/auth/internal/transport"
)

// maxAnswerBytes is the largest answer that is read; real ones have a few hundred bytes.
const maxAnswerBytes = 64 << 10

// Client exchanges login codes at one platform. It implements [auth.Exchanger] and is safe for
// concurrent use.
type Client struct {
	http *http.Client

	// config is a function because fmt prints the values of fields.
	config func() Config
}

var _ auth.Exchanger = (*Client)(nil)

// New returns a Client. It fails if the configuration is incomplete or invalid. The proxy is that
// of the environment, the certificates are the system's, and http.DefaultTransport is not used.
func New(c Config) (*Client, error) {
	c.Endpoint, c.Platform = cmp.Or(c.Endpoint, defaultEndpoint), cmp.Or(c.Platform, "miniapp")
	if err := c.check(); err != nil {
		return nil, err
	}
	// net/http repeats a GET on a reused connection that breaks, and then the code is already used.
	// On a new connection it does not.
	own := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, Protocols: new(http.Protocols),
		DialContext: (&net.Dialer{Timeout: 30 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second}
	own.Protocols.SetHTTP1(true)
	return &Client{
		config: func() Config { return c },
		http:   &http.Client{Transport: own, CheckRedirect: transport.NoRedirects},
	}, nil
}

// Exchange implements [auth.Exchanger]. It sends the code exactly once and waits for the answer
// until ctx ends. Its errors are [auth.ExchangeError]s, or ctx's error if ctx was canceled.
func (c *Client) Exchange(ctx context.Context, code string) (auth.Identity, error) {
	if err := checkCode(code); err != nil {
		return auth.Identity{}, err
	}
	status, body, err := c.send(ctx, code)
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return auth.Identity{}, ctx.Err()
		}
		return auth.Identity{}, transport.Error(ctx, err)
	}
	config := c.config()
	answer, err := read(status, body)
	if err != nil {
		var refused *auth.ExchangeError
		if errors.As(err, &refused) {
			refused.Message = c.clean(refused.Message, code)
		}
		return auth.Identity{}, err
	}
	id := auth.Identity{
		Platform: config.Platform, AppID: config.AppID, Subject: answer.subject, UnionID: answer.unionID,
	}
	if !id.Valid() {
		const message = "user identifier is too long or not printable"
		return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrPlatform, Message: message}
	}
	return id, nil
}

// maxCodeBytes is the length of the longest code that is sent. Platforms document no length; codes
// seen in practice have 32 to 64 characters.
const maxCodeBytes = 128

// checkCode rejects what cannot be a code of a mini program. Only unreserved URL characters are
// allowed: a code is never part of the syntax of a request it is inserted into.
func checkCode(code string) error {
	if code == "" {
		return &auth.ExchangeError{Kind: auth.ErrCodeMissing}
	}
	if len(code) > maxCodeBytes || strings.ContainsFunc(code, func(r rune) bool {
		return r != '-' && r != '_' && !(r >= '0' && r <= '9') && !(r >= 'A' && r <= 'Z') && !(r >= 'a' && r <= 'z')
	}) {
		return &auth.ExchangeError{Kind: auth.ErrCodeRejected, Message: "malformed"}
	}
	return nil
}

// send makes the request and reads the answer.
func (c *Client) send(ctx context.Context, code string) (status int, body []byte, err error) {
	req, err := c.config().request(ctx, code)
	if err != nil {
		return 0, nil, errors.New("cannot create the request")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	return resp.StatusCode, body, err
}

// maxMessageBytes is how much of a platform's text is kept in an error.
const maxMessageBytes = 200

// clean makes a platform's text safe to log: short, printable, and without the secret and the code.
func (c *Client) clean(s, code string) string {
	secret := c.config().Secret
	s = strings.NewReplacer(
		secret, "[secret]", url.QueryEscape(secret), "[secret]", code, "[code]", url.QueryEscape(code), "[code]",
	).Replace(s)
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
