package imagegen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// State is the state of a task. The service may report other states than the constants; they mean
// that the task is not done.
type State string

// The states named by the interface.
const (
	StatePending    State = "pending"    // submitted or queued
	StateProcessing State = "processing" // running
	StateCompleted  State = "completed"  // succeeded
	StateFailed     State = "failed"     // failed, with a message
)

func (s State) done() bool { return s == StateCompleted || s == StateFailed }

// a new task may be unknown to the service for this long
const unknownTaskPeriod = 30 * time.Second

// wait polls a task until it ends, and stores its images.
func (c *call) wait(parent context.Context, id string, sink Sink) (*Result, error) {
	if id == "" {
		return nil, &Error{Op: "poll", Err: fmt.Errorf("%w: the task identifier is empty", ErrInvalidRequest)}
	}
	if err := prepare(parent, sink, 0); err != nil {
		return nil, &WaitError{TaskID: id, Err: err}
	}
	ctx, cancel := context.WithTimeout(parent, maxWait)
	defer cancel()
	task := slog.String("task", clean(id, 128))
	pause := c.config.FirstPoll + rand.N(max(c.config.FirstPoll/2, 1))
	began := time.Now()
	var last error // what is wrong with the last poll, or odd in it
	for {
		if sleep(ctx, pause) != nil {
			return nil, c.stopWaiting(parent, id, last)
		}
		pause = pollEvery + rand.N(pollEvery*2/3)
		got, e := c.poll(ctx, id, sink)
		switch {
		case e == nil:
			last = nil
			if got.state != StatePending && got.state != StateProcessing {
				last = fmt.Errorf("its state is %q", clean(string(got.state), 64)) // which may be an end
				if got.err.Message != "" {
					last = fmt.Errorf("%w: %s", last, got.err.Message)
				}
			}
			c.event(Event{Kind: EventPoll, TaskID: id, State: got.state})
			c.log.LogAttrs(ctx, slog.LevelDebug, "polled task", task,
				slog.String("state", clean(string(got.state), 64)))
			if got.state.done() {
				r := &Result{TaskID: id, Attempts: c.attempts, Usage: got.usage}
				return c.finish(parent, r, got, sink)
			}
		case ctx.Err() != nil:
			return nil, c.stopWaiting(parent, id, last)
		case isFinal(e, c.config.FirstPoll > 0 && time.Since(began) < unknownTaskPeriod):
			c.complete(e).MayHaveRun = true        // of the task, not of the poll
			if e.Status < 404 && e.Status != 400 { // the address, the key or the account
				return nil, &WaitError{TaskID: id, Err: e}
			}
			return nil, e
		default:
			pause, last = max(pause, e.retryAfter), e
			c.event(Event{Kind: EventPoll, TaskID: id, Err: e})
			c.log.LogAttrs(ctx, slog.LevelWarn, "poll failed", task, slog.Any("error", e))
		}
	}
}

// finish stores the images of a task that has ended.
func (c *call) finish(ctx context.Context, r *Result, got *received, sink Sink) (*Result, error) {
	id := r.TaskID
	if err := got.taskError(id, c.attempts); err != nil {
		got.abort()
		return nil, err
	}
	var refresh func(context.Context) ([]item, error)
	if id != "" {
		refresh = func(ctx context.Context) ([]item, error) {
			again, e := c.poll(ctx, id, nil)
			if e != nil {
				return nil, e
			}
			return again.answer.images, nil
		}
	}
	err := c.collect(ctx, r, got, sink, refresh)
	if len(r.Images) > 0 {
		return r, err
	}
	if id != "" && err != nil {
		err = &WaitError{TaskID: id, Err: err}
	}
	return nil, err
}

// isFinal reports whether a failed poll ends the waiting: the service does not know the task, or
// refuses the key or the request. A young task may be unknown for a moment.
func isFinal(e *Error, young bool) bool {
	switch {
	case e.Status == http.StatusNotFound:
		return !young
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooManyRequests,
		e.Status == http.StatusTooEarly:
		return false
	case e.Status >= 300 && e.Status < 500:
		return true
	}
	return e.permanent || errors.Is(e.Err, ErrTooLarge)
}

// stopWaiting returns the error of a wait that ended before the task, because of the caller's
// context or of maxWait. last, if not nil, says more of the last poll.
func (c *call) stopWaiting(parent context.Context, id string, last error) error {
	err := parent.Err()
	if err == nil {
		err = fmt.Errorf("it did not end within %v: %w", maxWait, context.DeadlineExceeded)
	}
	if last != nil {
		err = fmt.Errorf("%w; %v", err, last) // not wrapped: its status is not the task's
	}
	return &WaitError{TaskID: id, Err: err}
}

func (c *call) poll(parent context.Context, id string, sink Sink) (*received, *Error) {
	limit := pollTimeout
	if sink != nil {
		limit = c.config.Timeout // the response may contain images; until its first byte the limit is pollTimeout
	}
	ctx, cancel := withLimit(parent, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint("/v1/tasks/"+url.PathEscape(id)), nil)
	if err != nil {
		return nil, &Error{Op: "poll", TaskID: id, Err: err, permanent: true}
	}
	req.Header.Set("Accept", "application/json")
	c.authorize(req)
	firstByte := time.AfterFunc(pollTimeout, cancel)
	resp, err := c.service.Do(req)
	if !firstByte.Stop() && err == nil {
		resp.Body.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		err = cause(err)
		if parent.Err() == nil && ctx.Err() != nil {
			err = fmt.Errorf("no response within %v: %w", min(limit, pollTimeout), context.DeadlineExceeded)
		}
		return nil, &Error{Op: "poll", TaskID: id, Err: err, permanent: isPermanent(err)}
	}
	defer resp.Body.Close()
	got, failure := c.receive(ctx, resp, "poll", id, sink, 0)
	if failure != nil {
		return nil, failure
	}
	switch got.shape {
	case shapeImages:
		if !got.state.done() {
			got.state = StateCompleted
		}
	case shapeError:
		return nil, &Error{Op: "poll", TaskID: id, Status: resp.StatusCode, Code: got.err.Code, Type: got.err.Type,
			Message: got.err.Message, RequestID: c.requestID(resp), permanent: true}
	}
	ongoing := got.state == StatePending || got.state == StateProcessing
	if !ongoing && slices.ContainsFunc(got.answer.images, item.hasImage) {
		got.state = StateCompleted // an unknown state, but here are the images
	}
	return got, nil
}
