package imagegen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls one image-generation service. It is safe for concurrent use.
type Client struct {
	config  Config
	base    *url.URL
	key     func() string // not a string, so that formatting the Client does not reveal it
	service *http.Client
	fetcher *http.Client
	log     *slog.Logger
}

// New returns a Client. It does not connect to the service.
func New(c Config) (*Client, error) {
	base, err := parseURL(nil, c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("base URL: a query or fragment is not allowed")
	}
	if strings.ContainsFunc(c.APIKey, notToken) {
		return nil, errors.New("API key: it contains a space, a control character or a non-ASCII character")
	}
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1")
	base.RawPath = ""
	key := c.APIKey
	c.APIKey = ""
	c = c.withDefaults()
	return &Client{config: c, base: base, key: func() string { return key }, log: c.Logger,
		service: withoutRedirects(c.HTTPClient), fetcher: withoutRedirects(c.FetchClient)}, nil
}

func withoutRedirects(h *http.Client) *http.Client {
	c := *h
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// call is one call of Generate, Submit or Wait.
type call struct {
	*Client
	op       string // for errors
	req      *Request
	attempts int   // requests for images sent
	unsure   bool  // one of them may have run without a response
	left     int64 // bytes that its images may still have
}

func (c *Client) newCall() *call {
	return &call{Client: c, op: "poll", left: maxResultBytes}
}

func (c *call) event(e Event) {
	e.Request, e.Attempt = c.req, c.attempts
	c.config.OnEvent(e)
}

// Generate sends req, waits for the task if the service responds with one, and stores the images in
// sink. Canceling ctx stops waiting but not the task, because the interface has no call to cancel
// it: it is charged all the same, and the returned [*WaitError] contains its identifier.
//
// If only some of the images are missing, Generate returns a Result together with a
// [*PartialError].
func (c *Client) Generate(ctx context.Context, req *Request, sink Sink) (*Result, error) {
	call := c.newCall()
	sent, err := call.submit(ctx, req, sink)
	if err != nil || len(sent.Images) > 0 {
		return sent, err
	}
	r, err := call.wait(ctx, sent.TaskID, sink)
	if r != nil {
		r.RequestID = sent.RequestID
	}
	return r, err
}

// Submit sends req. If the service responds with images, they are stored in sink. If it responds
// with a task, the Result has its TaskID and no Images, and [Client.Wait] fetches the images.
func (c *Client) Submit(ctx context.Context, req *Request, sink Sink) (*Result, error) {
	return c.newCall().submit(ctx, req, sink)
}

// Wait polls the task with that identifier until it ends, and stores its images in sink. It accepts
// any task the service still knows, whoever submitted it. The first poll is [Config].FirstPoll
// after the call: the task may have been submitted just now.
func (c *Client) Wait(ctx context.Context, taskID string, sink Sink) (*Result, error) {
	return c.newCall().wait(ctx, taskID, sink)
}

func (c *Client) endpoint(path string) string { return c.base.String() + path }

// authorize adds the API key to a request to the service's own origin.
func (c *Client) authorize(req *http.Request) {
	if key := c.key(); key != "" && origin(req.URL) == origin(c.base) {
		req.Header.Set("Authorization", "Bearer "+key)
	}
}

const (
	maxMessage = 4 << 10
	minSecret  = 4 // shorter keys, and prefixes of keys, are not redacted: they occur in common words
)

// sanitize makes text from the service safe to show: on one line and without the API key, should
// the service have echoed it. It is truncated last, because half a key would not be found.
func (c *Client) sanitize(s string) string {
	s = clean(s, len(s))
	if key := c.key(); len(key) >= minSecret {
		s = strings.ReplaceAll(s, key, "[key]")
	}
	return clean(s, maxMessage)
}

func (c *Client) sanitizeError(e serviceError) serviceError {
	return serviceError{clean(c.sanitize(e.Code), 200), clean(c.sanitize(e.Type), 200), c.sanitize(e.Message)}
}

func (c *Client) requestID(resp *http.Response) string {
	return clean(c.sanitize(resp.Header.Get("X-Request-Id")), 128)
}

// prepare checks that a sink can store n images.
func prepare(ctx context.Context, sink Sink, n int) error {
	if sink == nil {
		return fmt.Errorf("%w: no sink", ErrInvalidRequest)
	}
	if p, ok := sink.(Preparer); ok {
		if err := p.Prepare(ctx, n); err != nil {
			return fmt.Errorf("%w: %w: %w", ErrInvalidRequest, ErrStore, err)
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

// backoff returns the wait before retry n, counted from 1, less up to a quarter at random.
func backoff(n int) time.Duration {
	d := min(minBackoff<<min(n-1, 16), maxBackoff)
	return d - rand.N(d/4+1)
}

func timedOut(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && t.Timeout()
}
