package imagegen

import (
	"bytes"
	"context"
	"crypto/tls"
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

// post is a request for images that can be sent repeatedly.
type post struct {
	op, path    string
	contentType string
	length      int64
	open        func() (io.ReadCloser, error)
	n           int
	sink        Sink
}

func (c *call) submit(ctx context.Context, req *Request, sink Sink) (*Result, error) {
	p, free, err := c.newPost(ctx, req, sink)
	if err != nil {
		return nil, err
	}
	defer free()
	for {
		c.attempts++
		c.event(Event{Kind: EventAttempt})
		r, failure := c.attempt(ctx, p)
		e, failed := errors.AsType[*Error](failure)
		_, resumable := errors.AsType[*WaitError](failure) // wraps an Error of images that are already paid
		if !failed || resumable || r != nil {
			return r, failure
		}
		wait, retry := c.retry(e)
		c.unsure = c.unsure || e.MayHaveRun
		if !retry {
			return nil, c.complete(e)
		}
		c.event(Event{Kind: EventRetry, Err: e, Wait: wait})
		c.log.LogAttrs(ctx, slog.LevelWarn, "retrying request for images", slog.String("op", p.op),
			slog.Int("attempt", c.attempts), slog.Duration("wait", wait), slog.Any("error", e))
		if err := sleep(ctx, wait); err != nil {
			return nil, c.complete(&Error{Op: p.op, Err: errors.Join(err, e)})
		}
	}
}

func (c *call) complete(e *Error) *Error {
	e.Attempts = c.attempts
	e.MayHaveRun = e.MayHaveRun || c.unsure
	return e
}

func (c *call) retry(e *Error) (time.Duration, bool) {
	if c.attempts > c.config.MaxRetries || e.permanent {
		return 0, false
	}
	wait := backoff(c.attempts)
	switch e.class {
	case faultRefused:
		return max(e.retryAfter, wait), e.retryAfter > 0 && e.retryAfter <= maxBackoff
	case faultUnsent:
		return wait, true
	case faultAmbiguous:
		return wait, c.req.IdempotencyKey != ""
	}
	return 0, false
}

// newPost checks req, prepares the references and builds the request. free deletes buffered
// references.
func (c *call) newPost(ctx context.Context, req *Request, sink Sink) (p *post, free func(), err error) {
	p = &post{op: "generate", path: "/v1/images/generations", sink: sink}
	if req != nil && len(req.References) > 0 {
		p.op, p.path = "edit", "/v1/images/edits"
	}
	c.op, c.req = p.op, req
	err = req.check()
	if err == nil {
		err = prepare(ctx, sink, req.N)
	}
	if err != nil {
		return nil, nil, &Error{Op: p.op, Err: err}
	}
	p.n = req.N
	if len(req.References) == 0 {
		data := req.json()
		p.contentType, p.length = "application/json", int64(len(data))
		p.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		return p, func() {}, nil
	}
	files, free, err := c.attach(ctx, req.References)
	if err != nil {
		return nil, nil, err
	}
	u := newUpload(req, files)
	p.contentType, p.length, p.open = u.contentType, u.length, u.open
	return p, free, nil
}

func (c *call) attempt(parent context.Context, p *post) (*Result, error) {
	ctx, cancel := withLimit(parent, c.config.Timeout)
	defer cancel()
	var sent, answered atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// net/http dials again by itself when it finds a kept connection dead before it has
		// written anything to it; with a key, also after that. WroteHeaders may come before
		// anything is written: with a key, that counts as sent.
		GetConn: func(string) {
			if c.req.IdempotencyKey == "" {
				sent.Store(false)
			}
		},
		WroteHeaders:         func() { sent.Store(true) },
		GotFirstResponseByte: func() { answered.Store(true) },
	})
	body, err := p.open()
	if err != nil {
		return nil, &Error{Op: p.op, Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(p.path), body)
	if err != nil {
		return nil, &Error{Op: p.op, Err: err}
	}
	req.ContentLength, req.GetBody = p.length, p.open
	req.Header.Set("Content-Type", p.contentType)
	req.Header.Set("Accept", "application/json")
	if c.req.IdempotencyKey != "" {
		req.Header.Set("Idempotency-Key", c.req.IdempotencyKey) // net/http, too, sends the request again then
	}
	c.authorize(req)
	began := time.Now()
	resp, err := c.service.Do(req)
	if err != nil {
		e := &Error{Op: p.op, Err: whyEnded(ctx, cause(err))}
		unread, isReference := errors.AsType[referenceError](err)
		switch {
		case isReference:
			e.Err = unread // the service cannot have received the whole request
		case !sent.Load():
			e.class, e.permanent = faultUnsent, isPermanent(err)
		case !answered.Load():
			e.class, e.MayHaveRun = faultAmbiguous, true
		default:
			e.MayHaveRun = true
		}
		if timedOut(err) && e.class == faultAmbiguous || parent.Err() != nil {
			e.class = faultAnswered // not retried: it may still be running, or the caller has left
		}
		return nil, e
	}
	defer resp.Body.Close()
	c.log.LogAttrs(ctx, slog.LevelInfo, "response to request for images", slog.String("method", http.MethodPost),
		slog.String("path", p.path), slog.Int("status", resp.StatusCode), slog.Int64("request_bytes", p.length),
		slog.Int64("response_bytes", resp.ContentLength), slog.Duration("elapsed", time.Since(began)),
		slog.Int("attempt", c.attempts), slog.String("request_id", c.requestID(resp)))
	return c.read(ctx, parent, resp, p)
}

// read turns the response to a request for images into stored images or a task. Fetching images by
// URL is not part of the attempt: it uses parent and has its own limits.
func (c *call) read(ctx, parent context.Context, resp *http.Response, p *post) (*Result, error) {
	got, failure := c.receive(ctx, resp, p.op, "", p.sink, p.n)
	if failure != nil {
		return nil, failure
	}
	r := &Result{RequestID: c.requestID(resp), Attempts: c.attempts, TaskID: got.id, Usage: got.usage}
	e := &Error{Op: p.op, Status: resp.StatusCode, RequestID: r.RequestID, MayHaveRun: true}
	switch got.shape {
	case shapeImages:
		r.TaskID = ""
		err := c.collect(parent, r, got, p.sink, nil)
		if len(r.Images) == 0 {
			return nil, err
		}
		return r, err
	case shapeTask:
		if got.id == "" && !got.state.done() {
			e.Err = fmt.Errorf("%w: it contains a task without an identifier", errSyntax)
			return nil, e
		}
		if got.id != "" {
			c.event(Event{Kind: EventTask, TaskID: got.id, State: got.state})
			c.log.LogAttrs(ctx, slog.LevelInfo, "task submitted", slog.String("task", clean(got.id, 128)))
		}
		if !got.state.done() {
			return r, nil
		}
		return c.finish(parent, r, got, p.sink)
	case shapeError:
		e.TaskID = got.id
		e.Code, e.Type, e.Message = got.err.Code, got.err.Type, got.err.Message
		if e.Message == "" {
			e.Message = "the service reported an error without a message"
		}
	default:
		e.Message, e.Err = got.err.Message, ErrNoImages
	}
	return nil, e
}

// cause removes the method and URL that net/http adds to an error.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// isPermanent reports whether a request failed for a reason that a retry does not change.
func isPermanent(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return certificate || noTLS || errors.Is(err, ErrBlockedAddress) || errors.Is(err, ErrTooLarge)
}
