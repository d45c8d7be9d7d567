package imagegen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Client talks to one image-generation service. It is safe for concurrent use.
type Client struct {
	config  Config
	base    *url.URL
	key     func() string // not a string, so that no formatting of the Client shows it
	service *http.Client
	fetcher *http.Client
	log     *slog.Logger

	mu        sync.Mutex
	submitted map[string]time.Time // tasks submitted here a short while ago
}

// New makes a Client. It connects to nothing.
func New(c Config) (*Client, error) {
	base, err := fetchable(nil, c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("base URL: want no query and no fragment")
	}
	if strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf("key: it holds a space, a control character or a character beyond ASCII")
	}
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1")
	base.RawPath = ""
	key := c.Key
	c.Key = ""
	c = c.withDefaults()
	return &Client{config: c, base: base, key: func() string { return key }, service: straight(c.HTTPClient),
		fetcher: straight(c.Fetch.Client), log: c.Logger, submitted: map[string]time.Time{}}, nil
}

// straight returns a copy of h that does not follow redirects.
func straight(h *http.Client) *http.Client {
	own := *h
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// LogValue implements [slog.LogValuer]: the address of the service and nothing else.
func (c *Client) LogValue() slog.Value { return slog.StringValue(redact(c.base.String())) }

// Generate sends req, waits for the task if the service answers with one, and stores the images in sink. It is Submit and Wait
// in one; cancelling ctx stops the waiting, but not a task, for which the interface has no cancel call: it is charged all the same,
// and a [*WaitError] has its identifier.
//
// When some of the images are missing the Result comes together with a [*PartialError].
func (c *Client) Generate(ctx context.Context, req *Request, sink Sink) (*Result, error) {
	return c.begin().generate(ctx, req, sink)
}

func (c *call) generate(ctx context.Context, req *Request, sink Sink) (*Result, error) {
	r, t, err := c.submit(ctx, req, sink)
	if t != nil {
		sent := r
		if r, err = c.wait(ctx, t.ID, sink); r != nil {
			r.RequestID, r.Attempts, r.Ambiguous = sent.RequestID, sent.Attempts, sent.Ambiguous
			if r.Created.IsZero() {
				r.Created = sent.Created
			}
		}
	}
	c.done(r, err)
	return r, err
}

// Submit sends req. If the service answers with images they are stored in sink and Task is nil; if it answers with a task, the
// Task is returned beside a Result without images, and [Client.Wait] brings the images.
func (c *Client) Submit(ctx context.Context, req *Request, sink Sink) (*Result, *Task, error) {
	call := c.begin()
	r, t, err := call.submit(ctx, req, sink)
	call.done(r, err)
	return r, t, err
}

// Wait polls the task with that identifier until it ends, and stores its images in sink. It takes up any task the service still
// knows, whoever submitted it: it polls at once, unless this Client submitted the task less than [Poll].First ago.
func (c *Client) Wait(ctx context.Context, taskID string, sink Sink) (*Result, error) {
	call := c.begin()
	r, err := call.wait(ctx, taskID, sink)
	call.done(r, err)
	return r, err
}

func (c *Client) now() time.Time { return c.config.Now() }

func (c *Client) endpoint(path string) string { return c.base.String() + path }

// authorize puts the key on a request for the service's own origin.
func (c *Client) authorize(req *http.Request) {
	if key := c.key(); key != "" && origin(req.URL) == origin(c.base) {
		req.Header.Set("Authorization", "Bearer "+key)
	}
}

const (
	maxMessage = 4 << 10
	minSecret  = 4 // shorter keys, and beginnings of keys, are left in: common words would vanish, too
)

// words makes text from the service fit to be shown: cleaned, without the key should the service have echoed it, and only then
// cut, since half a key would not be found.
func (c *Client) words(s string) string {
	s = clean(s, len(s))
	if key := c.key(); len(key) >= minSecret {
		s = strings.ReplaceAll(s, key, "[key]")
	}
	return clean(s, maxMessage)
}

// beginning is words for text that breaks off, perhaps in the middle of the key.
func (c *Client) beginning(s string) string {
	s = c.words(s)
	key := c.key()
	for n := min(len(key)-1, len(s)); n >= minSecret; n-- {
		if rest, found := strings.CutSuffix(s, key[:n]); found {
			return rest + "[key]"
		}
	}
	return s
}

// complaint is what the service complains of, fit to be shown.
func (c *Client) complaint(said complaint) complaint {
	return complaint{clean(c.words(said.Code), 200), clean(c.words(said.Type), 200), c.words(said.Message)}
}

// prepare asks a sink whether it can store n images.
func prepare(ctx context.Context, sink Sink, n int) error {
	if sink == nil {
		return fmt.Errorf("%w: no sink", ErrInvalidRequest)
	}
	if p, ok := sink.(Preparer); ok {
		if err := p.Prepare(ctx, n); err != nil {
			return fmt.Errorf("%w: the images could not be stored: %w", ErrInvalidRequest, err)
		}
	}
	return nil
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// backoff is the wait before repetition n, counted from 1.
func (r Retry) backoff(n int) time.Duration {
	d := min(r.Base<<min(n-1, 16), r.Cap)
	return d - time.Duration(rand.Int64N(int64(d)/4+1))
}

// jitter returns a random duration below d.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}

// timedOut reports whether err is a deadline of any kind.
func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
