package feedback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"time"

	"github.com/google/uuid"
)

// From the request to the stored text:
//
//  1. The HTTP handler calls [Service.StartUpload], which checks the limits, and [Upload.Receive],
//     which streams the body to [AudioStore.Stage].
//  2. [Upload.Submit] calls [StagedAudio.Keep]: from here on the audio is durable.
//  3. [Store.InsertSegment] inserts the segment and gives its outbox a [Task], in one transaction.
//  4. The handler answers; with the commit, the outbox has made the task a job of a queue.
//  5. A worker of the queue calls [Service.RunTask] with the task and the [Attempt].
//  6. [Store.StartTranscription] marks the segment as transcribing by the attempt's lease token.
//  7. [Transcriber.Transcribe] reads the recording through [AudioStore.Open] and returns the text.
//  8. [Store.FinishTranscription] stores it, unless another attempt has taken the segment over.
//  9. [Service.Events] reports each of these changes, which it reads with [Store.Changes].
//  10. If the queue gives the job up, it calls [Service.FailTask]; [Service.RetrySegment] restarts.

// TaskKind is the kind of a [Task].
type TaskKind string

// The kinds of task.
const (
	TaskTranscribe   TaskKind = "transcribe"
	TaskDeleteAudio  TaskKind = "delete_audio"
	TaskEraseTeacher TaskKind = "erase_teacher" // see [Service.EraseTeacher]
	TaskLearn        TaskKind = "learn"         // the words of a record: see [Service.CreateRecord]
)

// Task is background work. A store gives it to its outbox within the transaction that makes it
// necessary; a queue's worker passes it to [Service.RunTask]. Its JSON form is the payload of a
// job.
type Task struct {
	Kind      TaskKind  `json:"kind"`
	SegmentID uuid.UUID `json:"segment_id,omitzero"` // with TaskTranscribe
	Round     int64     `json:"round,omitzero"`      // with TaskTranscribe: increases each time the segment is queued
	AudioKey  string    `json:"audio_key,omitempty"` // with TaskDeleteAudio
	TeacherID uuid.UUID `json:"teacher_id,omitzero"` // not with TaskDeleteAudio
	RecordID  uuid.UUID `json:"record_id,omitzero"`  // with TaskLearn
	// Turn is when a queue should start the task at the earliest. Tasks of the kind TaskTranscribe
	// have one in the past: started in the order of their turns, the recordings of one teacher do
	// not keep those of others waiting. A TaskEraseTeacher has one an hour ahead. The zero Turn
	// means at once.
	Turn time.Time `json:"turn,omitzero"`
}

// Attempt identifies one attempt at a [Task].
type Attempt struct {
	// LeaseToken is unique to the attempt, and required for [TaskTranscribe]. An attempt changes
	// nothing more once another one with a different token has started.
	LeaseToken string
	// Number counts from 1 the attempts that count against MaxAttempts, this one included.
	Number int
	// MaxAttempts is the number of the last attempt; 0 or a negative number means no limit.
	MaxAttempts int
	// Logger receives a line when the attempt starts (debug) and one when it ends (info), with the
	// identifiers of segment and session, the size of the recording, the time it took in
	// milliseconds, and the outcome: the state of the segment, or why nothing was changed. A queue
	// adds the job. Defaults to Config.Logger.
	Logger *slog.Logger
}

func (a Attempt) last() bool { return a.MaxAttempts > 0 && a.Number >= a.MaxAttempts }

// RunTask runs a task. A nil error means that it is done or no longer needed. An error's methods
// tell the queue what to do: if `Permanent() bool` returns true, give up; if `RetryAfter()
// time.Duration` returns more than 0, try again after that time without counting the attempt;
// otherwise count the attempt and try again, after [Service.RetryDelay]. When RunTask returns, the
// segment's state agrees: queued if there will be another attempt, failed, or transcribed if it had
// a text before, if not.
//
// A recording that is suspected of stopping the transcriber runs alone among the tasks of this
// Service, so that it does not make others suspect.
//
// A task of a failed segment that the queue runs again, because somebody has retried its job there,
// transcribes the segment as [Service.RetrySegment] would. After RetrySegment the older task can
// only fail permanently, with [ErrSuperseded].
//
// If ctx ends during an attempt (the worker stops or loses its lease), the segment goes back to
// queued, unless it was the last attempt and exceeded its deadline.
func (s *Service) RunTask(ctx context.Context, t Task, a Attempt) error {
	log := cmp.Or(a.Logger, s.cfg.Logger).With("attempt", a.Number)
	switch t.Kind {
	case TaskTranscribe:
		return s.transcribe(ctx, t, a, log.With("segment_id", t.SegmentID))
	case TaskDeleteAudio:
		return s.deleteAudio(ctx, t.AudioKey, log.With("audio_key", t.AudioKey))
	case TaskEraseTeacher:
		return s.store.EraseTeacher(ctx, t.TeacherID, time.Time{})
	case TaskLearn:
		if err := s.learn(ctx, t.TeacherID, t.RecordID); !errors.Is(err, ErrNotFound) {
			return err
		}
		return nil // deleted meanwhile
	}
	return permanentError{public: "unknown task", err: fmt.Errorf("task of unknown kind %q", t.Kind)}
}

// FailTask must be called when the queue gives a task up, whether its last attempt returned an
// error or died with its process. A segment that still waits for its text fails, and can be
// retried; a segment that has been retried since waits for the newer task. Audio that was not
// deleted is left to [Service.Sweep].
func (s *Service) FailTask(ctx context.Context, t Task) error {
	return s.failTask(ctx, t, codeInterrupted, "the transcription was interrupted", true)
}

// CancelTask must be called when somebody has cancelled a task in the queue, on its page for
// example. It does what FailTask does; the segment's error tells that the transcription was
// cancelled. Repeated calls do no harm.
func (s *Service) CancelTask(ctx context.Context, t Task) error {
	return s.failTask(ctx, t, codeCancelled, "the transcription was cancelled; it can be retried", false)
}

func (s *Service) failTask(ctx context.Context, t Task, code, reason string, keepError bool) error {
	if t.Kind != TaskTranscribe {
		return nil
	}
	seg, err := s.store.FailTranscription(ctx, t.SegmentID, t.Round, code, reason, keepError, s.now())
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	s.broker.notify(seg.SessionID)
	return nil
}

// finishTimeout limits how long storing the result may take after the attempt's context has ended.
const finishTimeout = 10 * time.Second

func (s *Service) transcribe(ctx context.Context, t Task, a Attempt, log *slog.Logger) error {
	if s.cfg.Transcriber == nil {
		return errors.New("feedback: no Transcriber is configured")
	}
	if a.LeaseToken == "" || a.Number < 1 {
		return errors.New("feedback: the Attempt has no LeaseToken, or a Number below 1")
	}
	started := time.Now()
	ended := func(outcome string, err error) { logEnd(ctx, log, "transcription ended", started, outcome, err) }
	seg, err := s.store.StartTranscription(ctx, t.SegmentID, t.Round, a.LeaseToken, a.Number, s.now())
	switch {
	case errors.Is(err, ErrNotFound):
		ended("deleted meanwhile", nil)
		return nil
	case errors.Is(err, ErrSuperseded): // also later: rounds only increase
		ended("superseded", nil)
		return permanentError{public: "the newest task of the segment transcribes it, not this one", err: err}
	case err != nil:
		ended("not started", err)
		return err
	}
	log = log.With("session_id", seg.SessionID, "lesson_id", seg.LessonID, "size_bytes", seg.Size)
	if seg.State != SegmentTranscribing {
		// An earlier attempt finished, and died before it could report that.
		ended(string(seg.State)+" before", nil)
		return nil
	}
	log.DebugContext(ctx, "transcription started", "content_type", seg.ContentType)
	s.broker.notify(seg.SessionID)

	transcript, took, err := s.recognize(ctx, seg, a)
	result := transcriptionResult(ctx, transcript, err, a)
	result.Suspicions, result.Took = seg.Suspicions, took
	if result.State == SegmentQueued && ctx.Err() == nil && isSuspect(err) {
		err = s.suspect(ctx, seg, a, &result, err)
	}

	// The result is stored even if ctx has ended: no segment may stay transcribing.
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	seg, finishErr := s.store.FinishTranscription(finish, seg.ID, a.LeaseToken, result, s.now())
	switch {
	case errors.Is(finishErr, ErrNotFound):
		ended("deleted meanwhile", err)
		return nil
	case finishErr != nil:
		err = errors.Join(finishErr, err)
		ended("result not stored", err)
		return err
	}
	log = log.With("audio_ms", seg.Duration.Milliseconds())
	if warning := seg.Warning(); warning != "" {
		log = log.With("warning", warning)
	}
	ended(string(seg.State), err)
	s.broker.notify(seg.SessionID)
	return err
}

func (s *Service) deleteAudio(ctx context.Context, key string, log *slog.Logger) error {
	log.DebugContext(ctx, "deleting audio started")
	started, outcome := time.Now(), "deleted"
	err := s.cfg.Audio.Delete(ctx, key)
	if err != nil {
		outcome = "not deleted"
	}
	logEnd(ctx, log, "deleting audio ended", started, outcome, err)
	return err
}

// logEnd logs the end of an attempt at a task.
func logEnd(ctx context.Context, log *slog.Logger, message string, started time.Time, outcome string, err error) {
	took := float64(time.Since(started).Microseconds()) / 1000
	log = log.With("outcome", outcome, "took_ms", took)
	if err != nil {
		log = log.With("error", err)
	}
	log.InfoContext(ctx, message)
}

// transcriptionResult decides what the result of an attempt means for the segment.
func transcriptionResult(ctx context.Context, t Transcript, err error, a Attempt) TranscriptionResult {
	if err == nil {
		text := cleanText(t.Text)
		return TranscriptionResult{State: SegmentTranscribed, Text: text, Details: detailsOf(t, text),
			Duration: t.Duration, Attempts: a.Number}
	}
	r := TranscriptionResult{State: SegmentQueued, Attempts: a.Number}
	r.ErrorCode, r.Error = failureOf(err)
	timedOut := errors.Is(ctx.Err(), context.DeadlineExceeded) // even if the queue sets another cause
	switch {
	case timedOut:
		r.ErrorCode, r.Error = codeTimeout, "the transcription took too long"
		if a.last() {
			r.State = SegmentFailed
		}
	case ctx.Err() != nil: // the worker stops
		r.ErrorCode, r.Error, r.Attempts = "", "", a.Number-1
	case isPermanent(err):
		r.State = SegmentFailed
	case retryAfter(err) > 0:
		r.Attempts = a.Number - 1
	case isSuspect(err): // Service.suspect counts it
	case a.last():
		r.State = SegmentFailed
	}
	return r
}

// audioOf returns the recording of a segment. Without hints it can be transcribed, too.
func (s *Service) audioOf(ctx context.Context, seg Segment, leaseToken string) Audio {
	language, words, err := s.store.Hints(ctx, seg.TeacherID, seg.SessionID)
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "a recording is transcribed without hints", "segment_id", seg.ID, "error", err)
	}
	open := func() (AudioFile, error) {
		f, err := s.cfg.Audio.Open(ctx, seg.AudioKey)
		if errors.Is(err, ErrNotFound) {
			return nil, missingError{err}
		}
		return f, err
	}
	a := Audio{
		Name:        path.Base(seg.AudioKey),
		ContentType: seg.ContentType,
		Size:        seg.Size,
		UploadedAt:  seg.CreatedAt,
		Language:    cmp.Or(seg.RetryLanguage, language, s.cfg.Defaults.Language),
		Words:       words,
		Open:        func() (io.ReadCloser, error) { return open() },
		Task:        seg.RecognizerTask,
		SaveTask: func(ctx context.Context, task string) error {
			return s.store.SaveRecognizerTask(ctx, seg.ID, leaseToken, task, s.now())
		},
	}
	if f, err := open(); err == nil { // raw samples are kept with a header, larger than they were sent
		a.Size = f.Size()
		f.Close()
	}
	return a
}

// missingError is the error of a recording that is not in the audio store. It is not permanent: a
// directory may not be mounted, or be that of another machine.
type missingError struct{ error }

func (e missingError) Unwrap() error    { return e.error }
func (missingError) PublicText() string { return "the recording is not found at the moment" }
func (missingError) PublicCode() string { return codeAudioGone }

// permanentError is an error that another attempt cannot resolve.
type permanentError struct {
	code   string // one of FailureCodes, or ""
	public string
	err    error
}

func (e permanentError) Error() string      { return e.public + ": " + e.err.Error() }
func (e permanentError) Unwrap() error      { return e.err }
func (e permanentError) Permanent() bool    { return true }
func (e permanentError) PublicText() string { return e.public }
func (e permanentError) PublicCode() string { return e.code }
