package feedback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"
)

// endTimeout bounds writing down how a try ended when its context has ended.
const endTimeout = 10 * time.Second

// Perform does a task. A nil error means that it is done or no longer needed.
// The error tells the queue by method what to do: `Permanent() bool` true,
// give up; `RetryAfter() time.Duration` above 0, try again after that long
// without counting the attempt; neither, count the attempt and try again. By
// the time Perform returns, the segment says the same: queued for a further
// try, failed when there is none.
//
// When ctx ends during a try (the worker stops, or loses its lease), the
// segment goes back to queued, unless it was the last try and ran out of time.
func (s *Service) Perform(ctx context.Context, t Task, a Attempt) error {
	switch t.Kind {
	case TaskTranscribe:
		return s.transcribe(ctx, t, a)
	case TaskDeleteAudio:
		return s.cfg.Audio.Delete(ctx, t.AudioKey)
	}
	return permanentError{public: "unknown task", err: fmt.Errorf("task of unknown kind %q", t.Kind)}
}

// Abandon settles a task that the queue gave up: the last try died with its
// process, or ended in an error. A segment that is still waiting for its text
// fails, and may be retried; one that was retried meanwhile waits for the task
// of that retry. A file that is still there is left to the sweep.
func (s *Service) Abandon(ctx context.Context, t Task) error {
	if t.Kind != TaskTranscribe {
		return nil
	}
	seg, err := s.store.AbandonTranscription(ctx, t.SegmentID, t.Round, "the transcription was interrupted", s.now())
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		s.events.publish(seg.SessionID, segmentEvent(seg))
	}
	return err
}

func (s *Service) transcribe(ctx context.Context, t Task, a Attempt) error {
	if s.cfg.Transcriber == nil {
		return errors.New("feedback: no Transcriber is configured")
	}
	seg, err := s.store.BeginTranscription(ctx, t.SegmentID, a.Token, a.Number, s.now())
	if errors.Is(err, ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	if seg.State != SegmentTranscribing {
		return nil // an earlier try had finished and could not say so
	}
	s.events.publish(seg.SessionID, segmentEvent(seg))

	text, err := s.cfg.Transcriber.Transcribe(ctx, s.audioOf(ctx, seg))
	o := s.outcome(ctx, text, err, a)

	// The outcome must be written even when ctx has ended: nothing may stay transcribing.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	seg, endErr := s.store.EndTranscription(end, seg.ID, a.Token, o, s.now())
	switch {
	case errors.Is(endErr, ErrNotFound):
		return nil
	case endErr != nil:
		return errors.Join(endErr, err)
	}
	s.events.publish(seg.SessionID, segmentEvent(seg))
	return err
}

// outcome decides what a try's result means for the segment.
func (s *Service) outcome(ctx context.Context, t Transcript, err error, a Attempt) Outcome {
	if err == nil {
		return Outcome{State: SegmentTranscribed, Text: cleanText(t.Text), Duration: t.Duration, Attempts: a.Number}
	}
	o := Outcome{State: SegmentQueued, Error: publicText(err), Attempts: a.Number}
	timedOut := errors.Is(ctx.Err(), context.DeadlineExceeded) // whatever the queue names as its cause
	switch {
	case ctx.Err() != nil && timedOut:
		o.Error = "the transcription took too long"
		if a.last() {
			o.State = SegmentFailed
		}
	case ctx.Err() != nil: // the worker stops
		o.Error, o.Attempts = "", a.Number-1
	case isPermanent(err):
		o.State = SegmentFailed
	case retryAfter(err) > 0:
		o.Attempts = a.Number - 1
	case a.last():
		o.State = SegmentFailed
	}
	return o
}

func (s *Service) audioOf(ctx context.Context, seg Segment) Audio {
	a := Audio{Name: path.Base(seg.AudioKey), ContentType: seg.ContentType, Size: seg.Size}
	open := func() (AudioFile, error) {
		f, err := s.cfg.Audio.Open(ctx, seg.AudioKey)
		if errors.Is(err, ErrNotFound) {
			return nil, permanentError{public: "the recording is gone", err: err}
		}
		return f, err
	}
	a.Open = func() (io.ReadCloser, error) { return open() }
	if f, err := open(); err == nil { // raw samples are kept with a header: larger than sent
		a.Size = f.Size()
		f.Close()
	}
	return a
}

// permanentError marks an error that trying again cannot help.
type permanentError struct {
	public string
	err    error
}

func (e permanentError) Error() string      { return e.public + ": " + e.err.Error() }
func (e permanentError) Unwrap() error      { return e.err }
func (e permanentError) Permanent() bool    { return true }
func (e permanentError) PublicText() string { return e.public }
