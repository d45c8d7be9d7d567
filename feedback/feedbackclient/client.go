// Package feedbackclient is a client of the HTTP API of the teaching-feedback service: every
// operation of its OpenAPI document, but for those by which a page signs in, is a method of
// [Client].
//
//	client := feedbackclient.New("https://lessons.example", token)
//	profile, err := client.EnsureProfile(ctx, "Ming")
//
// A server that has only the handler of package feedbackhttp answers 404 to some of them: those on
// the sign-in and the account, such as Login and EraseMe, need that of package authhttp, below
// /api/v1/auth, and those on sessions and devices its Config.Devices; Health and Ready are
// operations of the program feedback-server.
//
// Refusals of the server are a [*Problem], which errors.As finds. Lists and events are iterators.
// Clients ignore fields and values that they do not know, so that a server may be newer.
package feedbackclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lessonkit.example/internal/retryafter"
)

// Client calls one server as one teacher. Its methods are safe for concurrent use.
type Client struct {
	// Base is the URL of the server, as in http://host:port. Without a scheme, every call fails
	// with an error that says so. A redirect that http.Client follows with a GET is an error.
	Base string

	// Header is sent with each request. It contains the bearer token or the development user.
	Header http.Header

	// HTTP sends the requests. Defaults to http.DefaultClient.
	HTTP *http.Client

	// MaxRetries is how often a request is sent again that was answered 429, or 503 if repeating it
	// does no harm, with a Retry-After of up to a minute. The client waits as long as that says. A
	// request whose repetition does no harm is also sent again when the connection was refused or
	// lost, after 1 s, 2 s, 4 s and so on, up to a minute; a DELETE may then fail with not_found,
	// and EraseMe with unauthorized, although it was this call that deleted. Uploads do no harm:
	// the server recognises a recording that it has. Defaults to 0.
	MaxRetries int
}

// New returns a client that is signed in by a token, as [Client.Login] returns it. The token may be
// empty for the operations that need none.
func New(base, token string) Client {
	c := Client{Base: base, Header: http.Header{}}
	if token != "" {
		c.Header.Set("Authorization", "Bearer "+token)
	}
	return c
}

// Development returns a client that uses the development sign-in.
func Development(base, user string) Client {
	return Client{Base: base, Header: http.Header{"X-Development-User": {user}}}
}

// Problem is an error answer of the service, an RFC 9457 problem document.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"` // of HTTP
	Detail   string `json:"detail"` // for a person
	Code     string `json:"code"`   // for a program: a stable word, such as "not_found"
	Instance string `json:"instance"`

	Errors            []FieldError `json:"errors"`              // the invalid fields
	RetryAfterSeconds int          `json:"retry_after_seconds"` // 0 if unknown
	LessonID          string       `json:"lesson_id"`           // with the code lesson_in_progress
}

// FieldError describes an invalid field.
type FieldError struct {
	Location string `json:"location"` // such as "body.name"
	Message  string `json:"message"`
	Code     string `json:"code"`  // for a program: a stable word, such as "too_long", or ""
	Limit    int    `json:"limit"` // with too_long and too_many
	Line     int    `json:"line"`  // of a text, or item of a list, from 1; 0 for the whole field
}

// Error returns the status, the code, the detail and the invalid fields.
func (p *Problem) Error() string {
	text := fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail)
	for _, f := range p.Errors {
		text += "; " + f.Location + ": " + f.Message
	}
	return text
}

// Permanent reports whether sending the same request again cannot succeed.
func (p *Problem) Permanent() bool {
	return p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests &&
		p.Status != http.StatusRequestTimeout
}

// RetryAfter returns how long to wait before sending the request again, or 0 if that is unknown.
func (p *Problem) RetryAfter() time.Duration { return time.Duration(p.RetryAfterSeconds) * time.Second }

const (
	longestWait = time.Minute // before a request is sent again
	maxProblem  = 1 << 20     // bytes of a problem that are read
)

// request is a request that may be sent more than once.
type request struct {
	method, path string
	header       http.Header // in addition to the client's
	body         func() (r io.Reader, size int64, err error)
	out          any  // what the answer is decoded into, unless it is nil
	repeatable   bool // sending it twice has the effect of sending it once
}

// String returns the request without its query, which may name a student.
func (r request) String() string {
	path, _, _ := strings.Cut(r.path, "?")
	return r.method + " " + path
}

// withoutQuery returns an error of an address without the query.
func withoutQuery(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		e.URL, _, _ = strings.Cut(e.URL, "?")
	}
	return err
}

// do sends a request and decodes its answer; without out, the caller reads and closes the body. An
// error answer is returned as a *Problem.
func (c Client) do(ctx context.Context, r request) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		resp, err := c.once(ctx, r)
		if err == nil || attempt >= c.MaxRetries {
			return resp, err
		}
		wait := min(time.Second<<min(attempt, 6), longestWait)
		_, network := errors.AsType[*net.OpError](err) // and nothing that is wrong with the request
		retry := r.repeatable && (network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
		if p, ok := errors.AsType[*Problem](err); ok {
			wait = p.RetryAfter()
			retry = p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable && r.repeatable
		}
		if !retry || wait <= 0 || wait > longestWait || ctx.Err() != nil {
			return nil, err
		}
		if !sleep(ctx, wait) {
			return nil, fmt.Errorf("%w while waiting to try again after: %w", ctx.Err(), err)
		}
	}
}

// checkBase returns an error for a base URL that http.Client would refuse unclearly.
func (c Client) checkBase() error {
	if u, err := url.Parse(c.Base); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	return permanent{fmt.Errorf(
		"feedbackclient: the base URL %q must begin with http:// or https:// and a host", c.Base)}
}

// sleep reports false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (c Client) once(ctx context.Context, r request) (*http.Response, error) {
	if err := c.checkBase(); err != nil {
		return nil, err
	}
	var body io.Reader = http.NoBody
	var size int64
	if r.body != nil {
		var err error
		if body, size, err = r.body(); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, strings.TrimSuffix(c.Base, "/")+r.path, body)
	if err != nil {
		return nil, withoutQuery(err)
	}
	if r.body != nil {
		req.ContentLength = size // -1 if unknown
	}
	maps.Copy(req.Header, c.Header)
	maps.Copy(req.Header, r.header)
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return nil, withoutQuery(err)
	}
	// Where http.Client follows a redirect with a GET, nothing was done, whatever the answer.
	if resp.Request != nil && resp.Request.Method != r.method ||
		resp.StatusCode/100 == 3 && resp.Header.Get("Location") != "" {
		resp.Body.Close()
		return nil, permanent{fmt.Errorf("%s: the server redirects, as from http to https; "+
			"the base URL must be the one that it redirects to", r)}
	}
	success := resp.StatusCode < http.StatusBadRequest
	if success && r.out == nil {
		return resp, nil
	}
	defer resp.Body.Close()
	if success {
		err := json.NewDecoder(resp.Body).Decode(r.out)
		if err == io.EOF { // which would be that of the connection
			err = errors.New("it is empty")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: decode the answer: %w", r, err)
		}
		return resp, nil
	}
	p := new(Problem)
	err = json.NewDecoder(io.LimitReader(resp.Body, maxProblem)).Decode(p)
	if err != nil || p.Code == "" && p.Detail == "" {
		p.Detail = "the answer is not a problem document"
	}
	p.Status = resp.StatusCode
	if p.RetryAfterSeconds == 0 { // as of a proxy
		p.RetryAfterSeconds = int(math.Ceil(retryafter.Parse(resp.Header).Seconds()))
	}
	return nil, fmt.Errorf("%s: %w", r, p)
}

// Call sends a request with body as JSON and decodes the answer into out; either may be nil. path
// is added to Base, as in "/api/v1/words". An error answer is returned as a *Problem. It is for
// operations that have no method yet.
func (c Client) Call(ctx context.Context, method, path string, body, out any) error {
	return c.decode(ctx, jsonRequest(method, path, body), out)
}

// jsonRequest returns a request with a JSON body, or without one if body is nil.
func jsonRequest(method, path string, body any) request {
	r := request{method: method, path: path, repeatable: method != http.MethodPost, header: http.Header{}}
	if body != nil {
		r.header.Set("Content-Type", "application/json")
		r.body = func() (io.Reader, int64, error) {
			b, err := json.Marshal(body)
			return bytes.NewReader(b), int64(len(b)), err
		}
	}
	return r
}

// decode sends a request and decodes the answer into out, unless out is nil.
func (c Client) decode(ctx context.Context, r request, out any) error {
	_, err := c.decodeTagged(ctx, r, out)
	return err
}

// decodeTagged is decode that returns the ETag of the answer.
func (c Client) decodeTagged(ctx context.Context, r request, out any) (etag string, err error) {
	r.out = out
	resp, err := c.do(ctx, r)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	// A proxy that compresses the answer makes its tag a weak one, which If-Match never matches.
	return strings.TrimPrefix(resp.Header.Get("ETag"), "W/"), nil
}

// post is Call for a POST that can be repeated.
func (c Client) post(ctx context.Context, path string, body, out any) error {
	r := jsonRequest(http.MethodPost, path, body)
	r.repeatable = true
	return c.decode(ctx, r, out)
}

// list yields the items of all pages of a list with the conditions of a filter that are not "". It
// ends after its first error.
func list[T any](ctx context.Context, c Client, path string, filter map[string]string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := url.Values{"limit": {"200"}} // the greatest that the service allows
		for name, value := range filter {
			if value != "" {
				query.Set(name, value)
			}
		}
		for {
			var page struct {
				Items      []T    `json:"items"`
				NextCursor string `json:"next_cursor"`
			}
			if err := c.Call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			query.Set("cursor", page.NextCursor)
		}
	}
}

// path returns a path of the API with escaped segments in the place of each %s.
func path(format string, segments ...string) string {
	escaped := make([]any, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return "/api/v1" + fmt.Sprintf(format, escaped...)
}
