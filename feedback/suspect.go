package feedback

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// maxSuspicions is how often the transcriber may be lost while it has a recording before the
// recording has failed.
const maxSuspicions = 5

// recognize transcribes a segment, alone if it is suspect. took does not include waiting for
// others.
func (s *Service) recognize(
	ctx context.Context, seg Segment, a Attempt,
) (t Transcript, took time.Duration, err error) {
	weight := int64(1)
	if seg.Suspicions > 0 {
		weight = maxRunning
	}
	if err := s.running.Acquire(ctx, weight); err != nil {
		return Transcript{}, 0, err
	}
	defer s.running.Release(weight)
	started := s.cfg.Now()
	t, err = s.cfg.Transcriber.Transcribe(ctx, s.audioOf(ctx, seg, a.LeaseToken))
	if n := len(t.Text); err == nil && n > maxSummaryText {
		err = fmt.Errorf("feedback: the transcriber returned %d bytes of text, more than was said", n)
	}
	return t, s.cfg.Now().Sub(started), err
}

// suspect counts a suspicion in place of an attempt, and returns the error that delays the task or,
// after the last suspicion, ends it.
func (s *Service) suspect(ctx context.Context, seg Segment, a Attempt, r *TranscriptionResult, err error) error {
	r.Attempts, r.Suspicions = a.Number-1, seg.Suspicions+1
	s.cfg.Logger.WarnContext(ctx, "the recogniser was lost with a recording", "segment_id", seg.ID,
		"suspicions", r.Suspicions, "of", maxSuspicions, "error", err)
	if r.Suspicions >= maxSuspicions {
		r.State = SegmentFailed
		return permanentError{code: r.ErrorCode, public: r.Error, err: err}
	}
	return delayedError{err: err, delay: s.RetryDelay(r.Suspicions)}
}

// RetryDelay returns how long a task waits after so many failures, of which there is at least one:
// the configured delay, more or less a fifth, so that recordings which failed together do not
// return together.
func (s *Service) RetryDelay(failures int) time.Duration {
	d := s.cfg.RetryDelays[min(max(failures, 1), len(s.cfg.RetryDelays))-1]
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// delayedError is an error after which an attempt does not count.
type delayedError struct {
	err   error
	delay time.Duration
}

func (e delayedError) Error() string             { return e.err.Error() }
func (e delayedError) Unwrap() error             { return e.err }
func (e delayedError) RetryAfter() time.Duration { return e.delay }
