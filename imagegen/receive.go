package imagegen

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// received is a response that has been read completely: its meaning, and the images it contained,
// not yet committed.
type received struct {
	answer
	images map[int]*incoming
}

func (r *received) abort() {
	for _, in := range r.images {
		in.abort()
	}
}

// receive reads the response to a request for n images or to a poll. If sink is nil, image data is
// skipped.
func (c *call) receive(
	ctx context.Context, resp *http.Response, op, taskID string, sink Sink, n int,
) (*received, *Error) {
	body := newBodyReader(ctx, resp.Body)
	defer body.timer.Stop()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, c.refused(resp, body, op, taskID)
	}
	got := &received{images: map[int]*incoming{}}
	var open func(int) imageWriter
	if sink != nil {
		open = func(index int) imageWriter {
			in := c.incoming(ctx, sink, Info{Index: index, TaskID: taskID})
			in.info.Size = max(resp.ContentLength, 0) / 4 * 3 / int64(max(n, 1))
			got.images[index] = in
			return in
		}
	}
	s := newScanner(body, open)
	err := s.scan()
	if err == nil {
		got.answer, err = interpret(s.meta)
		got.err = c.sanitizeError(got.err)
	}
	if err != nil {
		got.abort()
		return nil, c.unreadable(resp, err, op, taskID, body.head)
	}
	if len(got.images) > 0 {
		got.shape = shapeImages
	}
	return got, nil
}

// unreadable returns the error for a response that broke off or is malformed. Nothing of it has
// been stored.
func (c *call) unreadable(resp *http.Response, err error, op, taskID string, head []byte) *Error {
	e := &Error{Op: op, Status: resp.StatusCode, RequestID: c.requestID(resp), TaskID: taskID, Err: err,
		MayHaveRun: taskID == ""}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		e.Err = fmt.Errorf("response broke off: %w", err)
	}
	head = bytes.TrimSpace(bytes.TrimLeft(head, byteOrderMark+" \t\r\n"))
	if errors.Is(err, errSyntax) && len(head) > 0 && !bytes.ContainsAny(head[:1], "{[") { // no image data
		mediaType, isText := cutText(http.DetectContentType(head))
		e.Message = mediaType
		if isText {
			e.Message = clean(c.sanitize(string(head)), sniffBytes)
		}
	}
	return e
}

// refused returns the error for a response with another status than 2xx.
func (c *call) refused(resp *http.Response, body io.Reader, op, taskID string) *Error {
	e := &Error{Op: op, Status: resp.StatusCode, RequestID: c.requestID(resp), TaskID: taskID}
	e.retryAfter = retryAfter(resp.Header)
	unavailable := resp.StatusCode == http.StatusServiceUnavailable && e.retryAfter > 0
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, unavailable:
		e.class = faultRefused
	case resp.StatusCode >= 500:
		e.MayHaveRun = taskID == ""
	case resp.StatusCode < 400:
		e.Err = fmt.Errorf("the redirect to %q is not followed: a paid request is sent to the base URL only",
			clean(c.sanitize(redact(resp.Header.Get("Location"))), 200))
		return e
	}
	text, _ := io.ReadAll(io.LimitReader(body, 64<<10))
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	var d struct{ Error serviceError }
	if json.Unmarshal(text, &d) == nil {
		reported := c.sanitizeError(d.Error)
		e.Code, e.Type, e.Message = reported.Code, reported.Type, reported.Message
	}
	if _, isText := cutText(http.DetectContentType(text)); e.Message == "" && isText && len(text) > 0 {
		e.Message = clean(c.sanitize(string(text)), sniffBytes)
	}
	return e
}

func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 1<<30 {
		return max(time.Duration(n)*time.Second, time.Millisecond)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(time.Until(at), time.Millisecond)
	}
	return 0
}

func (c *call) incoming(ctx context.Context, sink Sink, info Info) *incoming {
	return &incoming{ctx: ctx, sink: sink, info: info, left: &c.left, dims: newDimensions()}
}

// collect stores the images of a response and adds them to r: it commits those that were contained
// and fetches those that are URLs. refresh, if not nil, returns new URLs when the old ones have
// expired. The error is a [*PartialError] when some images are missing, and the failure of the
// first one when all are.
func (c *call) collect(
	ctx context.Context, r *Result, got *received, sink Sink, refresh func(context.Context) ([]item, error),
) error {
	failed := map[int]error{}
	for _, index := range slices.Sorted(maps.Keys(got.images)) {
		in := got.images[index]
		if index < len(got.answer.images) {
			in.info.Prompt = got.answer.images[index].Prompt
		}
		if err := in.commit(); err != nil {
			failed[index] = err
			continue
		}
		c.stored(r, in.info)
	}
	for index, item := range got.answer.images {
		switch {
		case got.images[index] != nil:
		case item.URL == "" && item.Error != nil:
			reported := c.sanitizeError(*item.Error)
			failed[index] = &Error{Op: c.op, TaskID: r.TaskID, Code: reported.Code, Type: reported.Type,
				Message: cmp.Or(reported.Message, noReason), RequestID: r.RequestID}
		case item.URL == "":
			failed[index] = ErrNoImages
		default:
			info := Info{Index: index, Prompt: item.Prompt, TaskID: r.TaskID}
			in, err := c.fetchImage(ctx, sink, info, string(item.URL), refresh)
			if err != nil {
				failed[index] = err
				continue
			}
			c.stored(r, in.info)
		}
	}
	slices.SortFunc(r.Images, func(a, b Info) int { return a.Index - b.Index })
	if len(failed) == 0 {
		return nil
	}
	partial := &PartialError{Failed: failed}
	if len(r.Images) > 0 {
		return partial
	}
	first := partial.Unwrap()[0]
	if e, ok := errors.AsType[*Error](first); ok {
		e.MayHaveRun, e.Attempts = true, c.attempts
		return first
	}
	return &Error{Op: c.op, TaskID: r.TaskID, RequestID: r.RequestID, Attempts: c.attempts, MayHaveRun: true,
		Err: first}
}

func (c *call) stored(r *Result, info Info) {
	r.Images = append(r.Images, info)
	c.event(Event{Kind: EventImage, Image: &info, TaskID: r.TaskID})
}

// bodyReader reads a response, ends it when it stays idle, and keeps its beginning for errors.
type bodyReader struct {
	r     io.ReadCloser
	ctx   context.Context
	timer *time.Timer
	ended atomic.Bool // by the timer
	head  []byte
}

func newBodyReader(ctx context.Context, r io.ReadCloser) *bodyReader {
	b := &bodyReader{r: r, ctx: ctx}
	b.timer = time.AfterFunc(idleTimeout, func() {
		b.ended.Store(true)
		r.Close()
	})
	b.timer.Stop()
	return b
}

func (b *bodyReader) Read(p []byte) (int, error) {
	b.timer.Reset(idleTimeout) // runs only here: a slow sink does not count
	n, err := b.r.Read(p)
	b.timer.Stop()
	if len(b.head) < maxMessage { // more than an error shows, so that it shows no part of a key
		b.head = append(b.head, p[:min(n, maxMessage-len(b.head))]...)
	}
	if err != nil && err != io.EOF {
		err = whyEnded(b.ctx, err)
		if b.ended.Load() {
			err = fmt.Errorf("the response stopped: no data for %v", idleTimeout)
		}
	}
	return n, err
}

// withLimit returns a context that ends after limit, which [whyEnded] then tells from the end of
// the caller's context.
func withLimit(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(parent, limit,
		fmt.Errorf("no response within %v: %w", limit, context.DeadlineExceeded))
}

// whyEnded replaces err by its real cause when that is the end of ctx.
func whyEnded(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if why := context.Cause(ctx); errors.Is(why, ctx.Err()) { // not one that only the caller knows
		return why
	}
	return ctx.Err()
}
