package imagegen

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// State is the state of a task. The service may report states that are not among the constants; they mean that the task goes on.
type State string

// The states the interface names.
const (
	StatePending    State = "pending"    // submitted or queued
	StateProcessing State = "processing" // being processed
	StateCompleted  State = "completed"  // succeeded
	StateFailed     State = "failed"     // failed, with a message
)

// Done reports whether a task in this state has ended.
func (s State) Done() bool { return s == StateCompleted || s == StateFailed }

// Task is what a poll said.
type Task struct {
	ID    string
	State State
	URLs  [][]string // of the images when completed; several addresses of one image are alternatives
	Err   error      // a [*TaskError] when failed; wraps [ErrNoImages] when completed without images
	Polls int        // polls answered so far by this Watch
}

const unknownTaskGrace = 30 * time.Second // how long after its submission a task may be unknown to the service

// Watch polls the task by the schedule and yields every answer, until the task has ended. Polls that fail for a passing reason are
// repeated in silence ([EventPoll] tells of them); an error ends the iteration and is a [*WaitError] when the task may still be
// taken up. Leaving the loop ends the polling.
func (c *Client) Watch(ctx context.Context, taskID string) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		for p, err := range c.begin().polls(ctx, taskID, nil) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(p.task, nil) {
				return
			}
		}
	}
}

// polled is one answered poll.
type polled struct {
	task *Task
	got  *received
}

// wait is Wait without the event at the end.
func (c *call) wait(ctx context.Context, id string, sink Sink) (*Result, error) {
	if err := prepare(ctx, sink, 0); err != nil {
		return nil, &WaitError{TaskID: id, Err: err}
	}
	for p, err := range c.polls(ctx, id, sink) {
		if err != nil {
			return nil, err
		}
		if p.task.State.Done() {
			r := &Result{TaskID: id, Attempts: c.attempts, Ambiguous: c.unsure, Usage: p.got.usage, Created: p.got.created}
			return c.settle(ctx, r, p.task, p.got, sink)
		}
	}
	return nil, &WaitError{TaskID: id, Err: errors.New("polling ended early")} // polls ends only after a task or an error
}

// settle stores the images of a task that has ended.
func (c *call) settle(ctx context.Context, r *Result, t *Task, got *received, sink Sink) (*Result, error) {
	if t.Err != nil {
		got.abort()
		var e *Error
		if errors.As(t.Err, &e) {
			e.Attempts = c.attempts
		}
		return nil, t.Err
	}
	var refresh func(context.Context) ([]item, error)
	if t.ID != "" {
		refresh = func(ctx context.Context) ([]item, error) {
			again, err := c.poll(ctx, t.ID, nil)
			if err != nil {
				return nil, err
			}
			return again.answer.images, nil
		}
	}
	err := c.collect(ctx, r, got, sink, refresh)
	if len(r.Images) > 0 {
		return r, err
	}
	if t.ID != "" && err != nil {
		err = &WaitError{TaskID: t.ID, Err: err}
	}
	return nil, err
}

// polls yields the answers about a task until it has ended. Errors end it.
func (c *call) polls(parent context.Context, id string, sink Sink) iter.Seq2[polled, error] {
	return func(yield func(polled, error) bool) {
		if id == "" {
			yield(polled{}, &Error{Op: "poll", Err: fmt.Errorf("%w: the task identifier is empty", ErrInvalidRequest)})
			return
		}
		schedule := c.config.Poll
		ctx, cancel := context.WithTimeout(parent, schedule.Max)
		defer cancel()
		submitted, known := c.recall(id)
		wait := time.Duration(0)
		if known {
			wait = schedule.First + jitter(schedule.FirstJitter) - c.now().Sub(submitted)
		}
		n := 0
		for {
			if pause(ctx, wait) != nil {
				yield(polled{}, c.gaveUp(parent, id, nil))
				return
			}
			got, err := c.poll(ctx, id, sink)
			wait = schedule.Every + jitter(schedule.Jitter)
			var e *Error
			switch {
			case err == nil:
			case ctx.Err() != nil:
				yield(polled{}, c.gaveUp(parent, id, err))
				return
			case errors.As(err, &e) && final(e, known && c.now().Sub(submitted) < unknownTaskGrace):
				c.failed(e).MayHaveRun = true // whatever is wrong with the poll, the task was submitted
				if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status < 400 {
					err = &WaitError{TaskID: id, Err: err}
				}
				yield(polled{}, err)
				return
			default:
				if e != nil {
					wait = max(wait, e.retryAfter)
				}
				c.trace(Event{Kind: EventPoll, TaskID: id, Polls: n, Err: err})
				c.log.LogAttrs(ctx, slog.LevelWarn, "poll failed", slog.String("task", clean(id, 128)), slog.Any("error", err))
				continue
			}
			n++
			t := got.task(id)
			t.Polls = n
			c.trace(Event{Kind: EventPoll, TaskID: id, State: t.State, Polls: n})
			c.log.LogAttrs(ctx, slog.LevelDebug, "task polled", slog.String("task", clean(id, 128)), slog.String("state", clean(string(t.State), 64)))
			if !yield(polled{t, got}, nil) || t.State.Done() {
				return
			}
		}
	}
}

// final reports whether a failed poll ends the waiting: the service does not know the task, or refuses the key or the request.
// young tasks may be unknown for a moment.
func final(e *Error, young bool) bool {
	switch {
	case e.Status == http.StatusNotFound:
		return !young
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooManyRequests, e.Status == http.StatusTooEarly:
		return false
	case e.Status >= 300 && e.Status < 500:
		return true
	}
	return e.permanent || errors.Is(e.Err, ErrTooLarge)
}

// gaveUp is the error of a wait that ended before the task, because of the caller's context or the limit.
func (c *call) gaveUp(parent context.Context, id string, last error) error {
	err := parent.Err()
	if err == nil {
		err = fmt.Errorf("it has not ended within %v: %w", c.config.Poll.Max, context.DeadlineExceeded)
		if last != nil && !timedOut(last) {
			err = errors.Join(err, last)
		}
	}
	return &WaitError{TaskID: id, Err: err}
}

// poll asks about a task once.
func (c *call) poll(parent context.Context, id string, sink Sink) (*received, error) {
	limit := c.config.Poll.Timeout
	if sink != nil {
		limit = c.config.Timeout // the answer may hold image data; the wait for its beginning is bounded below
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint("/v1/tasks/"+url.PathEscape(id)), nil)
	if err != nil {
		return nil, &Error{Op: "poll", TaskID: id, Err: err, permanent: true}
	}
	req.Header.Set("Accept", "application/json")
	c.authorize(req)
	silence := time.AfterFunc(c.config.Poll.Timeout, cancel)
	resp, err := c.service.Do(req)
	if !silence.Stop() && err == nil {
		resp.Body.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		err = cause(err)
		if parent.Err() == nil && ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v: %w", c.config.Poll.Timeout, context.DeadlineExceeded)
		}
		return nil, &Error{Op: "poll", TaskID: id, Err: err, permanent: hopeless(err)}
	}
	defer resp.Body.Close()
	got, err := c.receive(ctx, resp, "poll", id, limit, sink, 0)
	if err != nil {
		return nil, err
	}
	switch got.shape {
	case shapeImages:
		if !got.state.Done() {
			got.state = StateCompleted
		}
	case shapeError:
		return nil, &Error{Op: "poll", TaskID: id, Status: resp.StatusCode, Code: got.err.Code, Type: got.err.Type,
			Message: got.err.Message, RequestID: c.requestID(resp), permanent: true}
	}
	if slices.ContainsFunc(got.answer.images, item.some) && got.state != StatePending && got.state != StateProcessing {
		got.state = StateCompleted // a state we do not know, but here the images are
	}
	return got, nil
}

// remember notes when a task was submitted, and forgets the tasks that are no longer young.
func (c *Client) remember(id string) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for old, at := range c.submitted {
		if now.Sub(at) > max(c.config.Poll.First, unknownTaskGrace) {
			delete(c.submitted, old)
		}
	}
	c.submitted[id] = now
}

func (c *Client) recall(id string) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.submitted[id]
	return at, ok
}
