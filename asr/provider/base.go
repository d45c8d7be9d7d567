package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"lessonkit.example/asr"
)

// BaseConfig configures a [Base]. Op is required.
type BaseConfig struct {
	// Op is the name of the recogniser: the Op of errors and the Provider of its status.
	Op string
	// Model is the model in the status.
	Model string
	// Concurrency is the number of recordings in progress at once; further calls wait. Defaults
	// to 1.
	Concurrency int
	// Timeout is the longest time for one recording. Factor and MinTimeout shorten it for short
	// recordings: see [Base.TimeLimit]. They default to 30 minutes, 10 and 5 minutes.
	Timeout    time.Duration
	Factor     float64
	MinTimeout time.Duration
	// UnavailableFor is how long a failure makes the recogniser unavailable in its status: after
	// that, only another recording can show whether it works. Defaults to 10 minutes.
	UnavailableFor time.Duration
	// Ended, if not nil, is called with each result in place of updating the status, for a
	// recogniser that has a status of its own. failing means that the last recordings have all
	// failed. err is not an *asr.Error if the caller has given up.
	Ended func(t asr.Transcript, err error, failing bool)
	// Logger receives what an operator should know, without audio and text. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

// Base is what recognisers have in common: how many recordings are in progress and for how long,
// what their results mean, and the status that follows from them. If several different recordings
// fail in a row, the recogniser is the cause, not the recordings; and after a recording was lost or
// could not be sent, the recogniser has to answer a request without one before it gets the next. It
// is safe for concurrent use.
type Base struct {
	cfg   BaseConfig
	slots *semaphore.Weighted

	mu     sync.Mutex
	faults faults
	status asr.Status
	probe  func(ctx context.Context) error // nil unless a recording was lost or could not be sent
	lost   bool                            // one was lost
}

// NewBase returns a base. It starts nothing.
func NewBase(cfg BaseConfig) *Base {
	cfg.Timeout = cmp.Or(max(cfg.Timeout, 0), 30*time.Minute)
	cfg.Factor = cmp.Or(max(cfg.Factor, 0), 10)
	cfg.MinTimeout = cmp.Or(max(cfg.MinTimeout, 0), 5*time.Minute)
	cfg.UnavailableFor = cmp.Or(max(cfg.UnavailableFor, 0), 10*time.Minute)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	b := &Base{cfg: cfg, slots: semaphore.NewWeighted(int64(max(cfg.Concurrency, 1)))}
	b.status = asr.Status{Available: true, Provider: cfg.Op, Model: cfg.Model, CheckedAt: time.Now().UTC()}
	return b
}

// Log returns the logger, which is not nil.
func (b *Base) Log() *slog.Logger { return b.cfg.Logger }

// Timeout returns the longest time for one recording.
func (b *Base) Timeout() time.Duration { return b.cfg.Timeout }

// TimeLimit returns how long the recognition of a recording may take: Factor times its duration, at
// least MinTimeout and at most Timeout. It is Timeout for an unknown duration, 0.
func (b *Base) TimeLimit(duration time.Duration) time.Duration {
	limit := b.cfg.Timeout
	if needed := b.cfg.Factor * float64(duration); duration > 0 && needed < float64(limit) {
		limit = max(time.Duration(needed), b.cfg.MinTimeout)
	}
	return min(limit, b.cfg.Timeout)
}

// Recognize calls send when it is the recording's turn, and returns its result. The error is of
// class ErrUnavailable if the recogniser has to answer first or is the cause of a failure, and
// wraps that of ctx if the caller has given up, which says nothing about either.
func (b *Base) Recognize(
	ctx context.Context, audio asr.Audio, send func(context.Context) (asr.Transcript, error),
) (asr.Transcript, error) {
	if err := b.slots.Acquire(ctx, 1); err != nil {
		return asr.Transcript{}, b.interrupted(ctx)
	}
	defer b.slots.Release(1)
	var t asr.Transcript
	err := b.ready(ctx)
	if err == nil {
		t, err = send(ctx)
	}
	failing := false
	if err != nil && ctx.Err() != nil {
		t, err = asr.Transcript{}, b.interrupted(ctx)
	} else {
		b.mu.Lock()
		err, failing = b.faults.judge(audio, err)
		b.mu.Unlock()
	}
	if b.cfg.Ended != nil {
		b.cfg.Ended(t, err, failing)
	} else {
		b.updateStatus(err, failing)
	}
	return t, err
}

func (b *Base) interrupted(ctx context.Context) error {
	return fmt.Errorf("recognise (%s): %w", b.cfg.Op, ctx.Err())
}

// Lost records that the recogniser was lost with a recording. Before the next one is sent, probe
// asks it without a recording whether it is there, and returns an error if it is not.
func (b *Base) Lost(probe func(ctx context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probe, b.lost = probe, true
}

// Unsent records that a recording could not be sent. Otherwise it does what Lost does, which has
// precedence.
func (b *Base) Unsent(probe func(ctx context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lost {
		b.probe = probe
	}
}

// Answered records that the recogniser has answered a request without a recording. After a lost
// recording it is there again, so that the recording is the likely cause: otherwise several
// recordings that stop the recogniser would be taken for faults of the recogniser each time.
func (b *Base) Answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost {
		b.faults = faults{}
	}
	b.probe, b.lost = nil, false
}

// ready returns an error of class ErrUnavailable if a recording was lost, or could not be sent, and
// probe fails: every recording would be converted and sent during an outage, and those that are
// lost would be suspect.
func (b *Base) ready(ctx context.Context) error {
	b.mu.Lock()
	probe := b.probe
	b.mu.Unlock()
	if probe == nil {
		return nil
	}
	if err := probe(ctx); err != nil {
		return &asr.Error{Op: b.cfg.Op, Class: asr.ErrUnavailable, Message: "it is not ready again", Err: err}
	}
	b.Answered()
	return nil
}

// Status returns what recent recordings have shown; a recogniser is presumed to work. See
// [asr.Recognizer].
func (b *Base) Status(context.Context) asr.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status
	if !s.Available && time.Since(s.CheckedAt) > b.cfg.UnavailableFor {
		s.Available = true
		s.Reason = "not tried since: " + s.Reason
	}
	return s
}

// updateStatus records a result, unless it says nothing about the recogniser.
func (b *Base) updateStatus(err error, failing bool) {
	e, _ := errors.AsType[*asr.Error](err)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.status.Available, b.status.Reason = true, ""
	case e == nil || e.Class == nil || e.Class == asr.ErrUnusableAudio:
		return
	case !failing && (e.Class == asr.ErrLost || e.Class == asr.ErrUnavailable && (e.Status != 0 || e.Code != "")):
		return // reachable
	default:
		b.status.Available, b.status.Reason = false, e.Message
		if e.Code != "" {
			b.status.Reason += " (code " + e.Code + ")"
		}
	}
	b.status.CheckedAt = time.Now().UTC()
}

const (
	// maxFaulty is how many different recordings in a row must fail until the recogniser is taken
	// for the cause.
	maxFaulty = 3
	// minDelay and maxDelay limit how long a recording waits for a recogniser that fails with all.
	// In between it waits as long as the recogniser has been failing.
	minDelay = 15 * time.Second
	maxDelay = 10 * time.Minute
)

// faults tells the failures of a recogniser from those of recordings.
type faults struct {
	recordings map[string]bool // different recordings since the last success
	since      time.Time       // the first of them
}

// judge returns err, the result of a recording; or an error of class ErrUnavailable and true if it
// belongs to the recogniser.
func (f *faults) judge(audio asr.Audio, err error) (_ error, failing bool) {
	e, _ := errors.AsType[*asr.Error](err)
	switch {
	case err == nil, e != nil && e.Class == asr.ErrUnusableAudio && e.Status+len(e.Code) > 0:
		f.recordings = nil // it works
		return err, false
	case e == nil, e.Class != asr.ErrLost && (e.Class != nil || e.Permanent() || e.Status+len(e.Code) == 0):
		return err, false // not an answer, or one that says more
	}
	if f.recordings == nil {
		f.recordings, f.since = map[string]bool{}, time.Now()
	}
	if len(f.recordings) < maxFaulty {
		f.recordings[fmt.Sprint(audio.Name, " ", audio.Size)] = true
	}
	if len(f.recordings) < maxFaulty {
		return err, false
	}
	return &asr.Error{
		Op: e.Op, Class: asr.ErrUnavailable, Code: e.Code, Status: e.Status, Err: e.Err,
		Message: fmt.Sprintf("the last %d different recordings have failed: %s", maxFaulty, e.Message),
		After:   min(max(time.Since(f.since), minDelay), maxDelay),
	}, true
}
