package imagegen

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// post is a request for images that is ready to be sent, as often as need be.
type post struct {
	op, path    string
	contentType string
	length      int64
	open        func() (io.ReadCloser, error)
	key         string // Idempotency-Key
	req         *Request
	sink        Sink
}

// submit is Submit without the event at the end.
func (c *call) submit(ctx context.Context, req *Request, sink Sink) (*Result, *Task, error) {
	p, free, err := c.newPost(ctx, req, sink)
	if err != nil {
		return nil, nil, err
	}
	defer free()
	for {
		if err := c.gate.wait(ctx); err != nil {
			return nil, nil, c.failed(&Error{Op: p.op, Err: err})
		}
		c.attempts++
		c.trace(Event{Kind: EventAttempt})
		r, t, failure := c.attempt(ctx, p)
		if failure == nil {
			return r, t, nil
		}
		var e *Error
		var resumable *WaitError // may wrap an Error, of fetching what is already paid
		if r != nil || errors.As(failure, &resumable) || !errors.As(failure, &e) {
			return r, nil, failure
		}
		wait, again := c.again(e)
		if e.class == faultAmbiguous || e.class == faultAnswered && e.MayHaveRun {
			c.unsure++
		}
		if e.class == faultRefused && e.retryAfter > 0 {
			c.gate.close(c.now().Add(max(wait, e.retryAfter))) // also for the others, when this one is given up
		}
		if !again {
			return nil, nil, c.failed(e)
		}
		c.trace(Event{Kind: EventRetry, Err: e, Wait: wait, MayHaveRun: c.unsure > 0})
		c.log.LogAttrs(ctx, slog.LevelWarn, "request for images repeated", slog.String("op", p.op), slog.Int("attempt", c.attempts),
			slog.Duration("wait", wait), slog.Int("status", e.Status), slog.Any("error", e))
		if err := pause(ctx, wait); err != nil {
			return nil, nil, c.failed(&Error{Op: p.op, Err: errors.Join(err, e)})
		}
	}
}

// failed completes an error with what the call knows.
func (c *call) failed(e *Error) *Error {
	e.Attempts = c.attempts
	e.MayHaveRun = e.MayHaveRun || c.unsure > 0
	return e
}

// again decides whether a failed request is sent again, and after how long.
func (c *call) again(e *Error) (time.Duration, bool) {
	retry := c.config.Retry
	if c.attempts > retry.Max || e.permanent {
		return 0, false
	}
	wait := retry.backoff(c.attempts)
	switch e.class {
	case faultRefused:
		return max(e.retryAfter, wait), e.retryAfter > 0 && e.retryAfter <= retry.Cap
	case faultUnsent:
		return wait, true
	case faultAmbiguous:
		return wait, !retry.Unsent
	}
	return 0, false
}

// newPost checks req, looks at the references and builds what will be sent. free lets go of spooled references.
func (c *call) newPost(ctx context.Context, req *Request, sink Sink) (p *post, free func(), err error) {
	p = &post{op: "generate", path: "/v1/images/generations", req: req, sink: sink}
	if req != nil && len(req.Refs) > 0 {
		p.op, p.path = "edit", "/v1/images/edits"
	}
	c.op = p.op
	fail := func(err error) (*post, func(), error) { return nil, nil, &Error{Op: p.op, Err: err} }
	if req == nil {
		return fail(fmt.Errorf("%w: it is nil", ErrInvalidRequest))
	}
	if err := req.check(c.config.Limits); err != nil {
		return fail(err)
	}
	if err := prepare(ctx, sink, req.N); err != nil {
		return fail(err)
	}
	fields, err := req.fields(c.config.Model)
	if err != nil {
		return fail(err)
	}
	if c.config.Retry.Key != nil {
		p.key = c.config.Retry.Key(req)
	}
	free = func() {}
	if len(req.Refs) == 0 {
		data, err := body(fields)
		if err != nil {
			return fail(err)
		}
		p.contentType, p.length = "application/json", int64(len(data))
		p.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		return p, free, nil
	}
	files, free, err := c.attach(ctx, req.Refs)
	if err != nil {
		return nil, nil, err
	}
	u, err := newUpload(fields, files)
	if err != nil {
		free()
		return fail(err)
	}
	p.contentType, p.length, p.open = u.contentType, u.length, u.open
	return p, free, nil
}

// attempt sends p once and reads the answer.
func (c *call) attempt(parent context.Context, p *post) (*Result, *Task, error) {
	ctx, cancel := context.WithTimeout(parent, c.config.Timeout)
	defer cancel()
	var sent, answered atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// net/http dials anew by itself when a kept connection turns out dead before anything was written to it
		GetConn:              func(string) { sent.Store(sent.Load() && p.key != "") },
		WroteHeaders:         func() { sent.Store(true) },
		GotFirstResponseByte: func() { answered.Store(true) },
	})
	body, err := p.open()
	if err != nil {
		return nil, nil, &Error{Op: p.op, Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(p.path), body)
	if err != nil {
		return nil, nil, &Error{Op: p.op, Err: err}
	}
	req.ContentLength, req.GetBody = p.length, p.open
	req.Header.Set("Content-Type", p.contentType)
	req.Header.Set("Accept", "application/json")
	if p.key != "" {
		req.Header.Set("Idempotency-Key", p.key)
	}
	c.authorize(req)
	began := c.now()
	resp, err := c.service.Do(req)
	if err != nil {
		e := &Error{Op: p.op, Err: timeLimit(parent, ctx, c.config.Timeout, cause(err))}
		switch upload, _ := body.(*uploadBody); {
		case upload != nil && upload.failure() != nil:
			e.Err = upload.failure() // the service cannot have had the whole request
		case !sent.Load():
			e.class, e.permanent = faultUnsent, hopeless(err)
		case !answered.Load():
			e.class, e.MayHaveRun = faultAmbiguous, true
		default:
			e.MayHaveRun = true
		}
		if timedOut(err) && e.class == faultAmbiguous || parent.Err() != nil {
			e.class = faultAnswered // most likely it is still generating, or nobody wants the answer any more: no repetition
		}
		return nil, nil, e
	}
	defer resp.Body.Close()
	c.log.LogAttrs(ctx, slog.LevelInfo, "request for images answered", slog.String("method", http.MethodPost), slog.String("path", p.path),
		slog.Int("status", resp.StatusCode), slog.Int64("request_bytes", p.length), slog.Int64("answer_bytes", resp.ContentLength),
		slog.Duration("elapsed", c.now().Sub(began)), slog.Int("attempt", c.attempts), slog.String("request_id", c.requestID(resp)))
	return c.read(ctx, parent, resp, p)
}

// read turns the answer to a request for images into stored images or a task. Fetching images by address is not part of the
// attempt: it runs under parent and by its own limits.
func (c *call) read(ctx, parent context.Context, resp *http.Response, p *post) (*Result, *Task, error) {
	got, err := c.receive(ctx, resp, p.op, "", c.config.Timeout, p.sink, p.req.N)
	if err != nil {
		return nil, nil, err
	}
	a := got.answer
	r := &Result{RequestID: c.requestID(resp), Attempts: c.attempts, Ambiguous: c.unsure, TaskID: a.id, Usage: a.usage, Created: a.created}
	failure := &Error{Op: p.op, Status: resp.StatusCode, RequestID: r.RequestID, MayHaveRun: true}
	switch a.shape {
	case shapeImages:
		r.TaskID = ""
		err := c.collect(parent, r, got, p.sink, nil)
		if len(r.Images) == 0 {
			return nil, nil, err
		}
		return r, nil, err
	case shapeTask:
		if a.id == "" && !a.state.Done() {
			failure.Err = fmt.Errorf("%w: it tells of a task without an identifier", errSyntax)
			return nil, nil, failure
		}
		t := a.task(a.id)
		if a.id != "" {
			c.remember(a.id)
			c.trace(Event{Kind: EventTask, TaskID: a.id, State: a.state})
			c.log.LogAttrs(ctx, slog.LevelInfo, "task submitted", slog.String("task", clean(a.id, 128)))
		}
		if !a.state.Done() {
			return r, t, nil
		}
		r, err := c.settle(parent, r, t, got, p.sink)
		return r, nil, err
	case shapeError:
		failure.TaskID = a.id
		failure.Code, failure.Type, failure.Message = a.err.Code, a.err.Type, a.err.Message
		if failure.Message == "" {
			failure.Message = "the service reports an error without a message"
		}
	default:
		failure.Err = ErrNoImages
	}
	return nil, nil, failure
}

// cause strips the method and address that net/http puts around an error.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// hopeless reports whether a connection fails for a reason that another try does not change.
func hopeless(err error) bool {
	var (
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError // the other side does not speak TLS
	)
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &record) || errors.Is(err, ErrBlockedAddress)
}

func (c *Client) requestID(resp *http.Response) string {
	return clean(c.words(resp.Header.Get("X-Request-Id")), 128)
}
