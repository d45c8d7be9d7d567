package jobqueue

import (
	"context"
	"sync"
	"time"
)

// lazyContext is a child of parent that becomes a context of the standard library when it is first
// waited for or found to have ended. Short handlers need neither, and the channel, the timer and
// the links to the parent would take longer than the rest of their attempts.
//
// If it has ended for several reasons before it became one, the cause is the parent's.
//
// A context derived from a lazyContext calls its Done and then finds the standard context with
// Value, so it needs no goroutine, and [context.Cause] finds the cause there too.
type lazyContext struct {
	parent   context.Context
	deadline time.Time // which ends it with cause ErrTimeout; zero: none

	mu       sync.Mutex
	standard context.Context         // nil until it is needed
	stop     context.CancelCauseFunc // ends standard
	cause    error                   // of end; nil while that was not called
}

// end ends c, unless it has ended before. The cause of one without a deadline is cause, or
// context.Canceled if that is nil, which it must be for one with a deadline.
func (c *lazyContext) end(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	stop := c.stop
	c.mu.Unlock()
	if stop != nil {
		stop(cause)
	}
}

// toStandard returns the standard context, which it makes if there is none.
func (c *lazyContext) toStandard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.standard != nil:
	case c.cause != nil: // perhaps before its deadline, which may have passed since
		c.standard, c.stop = context.WithCancelCause(c.parent)
		c.stop(c.cause)
	case c.deadline.IsZero():
		c.standard, c.stop = context.WithCancelCause(c.parent)
	default:
		ctx, stop := context.WithDeadlineCause(c.parent, c.deadline, ErrTimeout)
		c.standard, c.stop = ctx, func(error) { stop() }
	}
	return c.standard
}

func (c *lazyContext) Deadline() (time.Time, bool) {
	d, ok := c.parent.Deadline()
	if c.deadline.IsZero() || ok && d.Before(c.deadline) {
		return d, ok
	}
	return c.deadline, true
}

func (c *lazyContext) Done() <-chan struct{} { return c.toStandard().Done() }

func (c *lazyContext) Err() error {
	c.mu.Lock()
	lazy := c.standard == nil && c.cause == nil
	c.mu.Unlock()
	if lazy && c.parent.Err() == nil && (c.deadline.IsZero() || time.Now().Before(c.deadline)) {
		return nil
	}
	return c.toStandard().Err()
}

func (c *lazyContext) Value(key any) any {
	c.mu.Lock()
	ctx := c.standard
	c.mu.Unlock()
	if ctx == nil {
		ctx = c.parent
	}
	return ctx.Value(key)
}
