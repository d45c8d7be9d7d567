package feedback_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbacktest"
)

func TestPerformSettlesTheSegmentAsTheErrorTells(t *testing.T) {
	t.Parallel()
	away := fault{after: time.Minute, public: "the recogniser is busy"}
	refused := fault{permanent: true, public: "the audio is damaged"}
	for name, c := range map[string]struct {
		text     string
		err      error
		attempt  feedback.Attempt
		state    feedback.SegmentState
		message  string
		attempts int
	}{
		"recognised":                      {text: " 画得很好\x00\n", attempt: feedback.Attempt{Number: 2, MaxAttempts: 3}, state: feedback.SegmentTranscribed, attempts: 2},
		"away costs no attempt":           {err: away, attempt: feedback.Attempt{Number: 2, MaxAttempts: 3}, state: feedback.SegmentQueued, message: "the recogniser is busy", attempts: 1},
		"away on the last attempt":        {err: fmt.Errorf("wrapped: %w", away), attempt: feedback.Attempt{Number: 3, MaxAttempts: 3}, state: feedback.SegmentQueued, message: "the recogniser is busy", attempts: 2},
		"refused at once":                 {err: refused, attempt: feedback.Attempt{Number: 1, MaxAttempts: 3}, state: feedback.SegmentFailed, message: "the audio is damaged", attempts: 1},
		"an ordinary failure waits":       {err: errOrdinary, attempt: feedback.Attempt{Number: 2, MaxAttempts: 3}, state: feedback.SegmentQueued, message: "the recogniser failed", attempts: 2},
		"the last ordinary failure fails": {err: errOrdinary, attempt: feedback.Attempt{Number: 3, MaxAttempts: 3}, state: feedback.SegmentFailed, message: "the recogniser failed", attempts: 3},
		"without limit nothing is last":   {err: errOrdinary, attempt: feedback.Attempt{Number: 99}, state: feedback.SegmentQueued, message: "the recogniser failed", attempts: 99},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			seg, task := e.add(e.lesson(), "x")
			e.speech.answer = func(ctx context.Context, a feedback.Audio) (feedback.Transcript, error) {
				require.Equal(t, feedback.SegmentTranscribing, e.get(seg).State)
				require.Equal(t, feedbacktest.MP3("x"), readAll(t, a))
				require.Equal(t, feedbacktest.MP3("x"), readAll(t, a), "audio opens again")
				require.EqualValues(t, len(feedbacktest.MP3("x")), a.Size)
				require.Equal(t, "audio/mpeg", a.ContentType)
				require.Regexp(t, `^[0-9a-f-]{36}\.mp3$`, a.Name)
				return feedback.Transcript{Text: c.text, Duration: 2 * time.Second}, c.err
			}
			c.attempt.LeaseToken = "lease"
			err := e.RunTask(t.Context(), task, c.attempt)
			if c.err == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.err)
			}
			got := e.get(seg)
			require.Equal(t, c.state, got.State)
			require.Equal(t, c.message, got.Error)
			require.Equal(t, c.attempts, got.Attempts)
			if c.state == feedback.SegmentTranscribed {
				require.Equal(t, "画得很好", got.Text)
				require.Equal(t, 2*time.Second, got.Duration)
				require.NoError(t, e.RunTask(t.Context(), task, c.attempt), "a repeated job has nothing to do")
				require.Equal(t, got, e.get(seg))
			}
		})
	}
}

func TestPerformPutsBackWhatAStoppingWorkerHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		context  func(context.Context) (context.Context, context.CancelFunc)
		attempt  int
		state    feedback.SegmentState
		attempts int
	}{
		"stopped on the last attempt": {context.WithCancel, 3, feedback.SegmentQueued, 2},
		"hung":                        {expired, 2, feedback.SegmentQueued, 2},
		"hung on the last attempt":    {expired, 3, feedback.SegmentFailed, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			seg, task := e.add(e.lesson(), "x")
			e.speech.answer = func(ctx context.Context, _ feedback.Audio) (feedback.Transcript, error) {
				<-ctx.Done()
				return feedback.Transcript{}, ctx.Err()
			}
			ctx, cancel := c.context(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				done <- e.RunTask(ctx, task, feedback.Attempt{LeaseToken: "lease", Number: c.attempt, MaxAttempts: 3})
			}()
			if name == "stopped on the last attempt" {
				require.Eventually(t, func() bool { return e.get(seg).State == feedback.SegmentTranscribing }, 10*time.Second, time.Millisecond)
				cancel()
			}
			require.Error(t, <-done)
			got := e.get(seg)
			require.Equal(t, c.state, got.State)
			require.Equal(t, c.attempts, got.Attempts)
		})
	}
}

// expired gives work a tenth of a second: enough to begin, and to hang.
func expired(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, 100*time.Millisecond, errors.New("the job timed out"))
}

func TestLateWorkerChangesNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	seg, task := e.add(e.lesson(), "x")
	e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) {
		// While this worker hangs, its successor does the work.
		e.speech.answer = says("by the successor", nil)
		require.NoError(t, e.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "second", Number: 2}))
		return feedback.Transcript{Text: "too late"}, nil
	}
	err := e.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "first", Number: 1})
	require.ErrorIs(t, err, feedback.ErrSuperseded)
	require.Equal(t, "by the successor", e.get(seg).Text)
}

func TestAbandonFailsWhatTheQueueGaveUp(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	seg, task := e.add(e.lesson(), "x")
	_, err := e.store.StartTranscription(t.Context(), seg.ID, "died", 3, e.clock.Now())
	require.NoError(t, err)
	require.NoError(t, e.FailTask(t.Context(), task))
	got := e.get(seg)
	require.Equal(t, feedback.SegmentFailed, got.State)
	require.NotEmpty(t, got.Error)

	_, err = e.RetrySegment(t.Context(), e.teacher, seg.ID)
	require.NoError(t, err)
	retried := e.take()
	require.Len(t, retried, 1)
	require.NoError(t, e.RunTask(t.Context(), retried[0], feedback.Attempt{LeaseToken: "again", Number: 1}))
	require.Equal(t, feedback.SegmentTranscribed, e.get(seg).State)
	require.NoError(t, e.FailTask(t.Context(), task), "of a finished segment nothing changes")
	require.Equal(t, feedback.SegmentTranscribed, e.get(seg).State)
	require.NoError(t, e.FailTask(t.Context(), feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: uuid.New()}))
	require.NoError(t, e.FailTask(t.Context(), feedback.Task{Kind: feedback.TaskDeleteAudio, AudioKey: "x"}))
}

// "failed → queued by retry": what the queue still does for the job that failed undoes nothing.
func TestRetryIsNotUndoneByTheJobItReplaces(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]func(e *env, old feedback.Task) error{
		"told that it is dead": func(e *env, old feedback.Task) error { return e.FailTask(t.Context(), old) },
		"done again, as its worker died before it could report": func(e *env, old feedback.Task) error {
			e.speech.answer = func(ctx context.Context, _ feedback.Audio) (feedback.Transcript, error) {
				_, err := e.store.StartTranscription(ctx, old.SegmentID, "the retry's", 1, e.clock.Now())
				return feedback.Transcript{}, err
			}
			require.ErrorIs(t, e.RunTask(t.Context(), old, feedback.Attempt{LeaseToken: "late", Number: 5, MaxAttempts: 5}), feedback.ErrSuperseded)
			return e.FailTask(t.Context(), old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			seg, old := e.add(e.lesson(), "x")
			e.speech.answer = says("", fault{permanent: true, public: "the audio is damaged"})
			require.Error(t, e.RunTask(t.Context(), old, feedback.Attempt{LeaseToken: "t", Number: 1, MaxAttempts: 5}))
			require.Equal(t, feedback.SegmentFailed, e.get(seg).State)
			_, err := e.RetrySegment(t.Context(), e.teacher, seg.ID)
			require.NoError(t, err)
			require.NoError(t, settle(e, old))
			require.NotEqual(t, feedback.SegmentFailed, e.get(seg).State)
			e.speech.answer = says("hello", nil)
			require.NoError(t, e.RunTask(t.Context(), e.take()[0], feedback.Attempt{LeaseToken: "again", Number: 1, MaxAttempts: 5}))
			require.Equal(t, feedback.SegmentTranscribed, e.get(seg).State)
		})
	}
}

func TestTranscriptKeepsTheOrderOfSequences(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	e.speech.answer = func(_ context.Context, a feedback.Audio) (feedback.Transcript, error) {
		b := readAll(t, a)
		return feedback.Transcript{Text: string(b[len(b)-1:])}, nil
	}
	for _, sequence := range []int{2, 0, 1} { // uploaded and finished out of order
		_, _, err := e.AddSegment(t.Context(), e.teacher, l.ID, bytes.NewReader(feedbacktest.MP3(fmt.Sprint(sequence))), feedback.SegmentInput{Sequence: &sequence})
		require.NoError(t, err)
		require.NoError(t, e.RunTask(t.Context(), e.take()[0], feedback.Attempt{LeaseToken: "t", Number: 1}))
	}
	l, err := e.FinishLesson(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	require.Equal(t, "0\n1\n2", l.Transcript())
	require.Equal(t, feedback.SegmentCounts{Total: 3, Transcribed: 3}, l.Counts())
}

func TestPerformOfWhatIsGone(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	require.NoError(t, e.RunTask(t.Context(), feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: uuid.New()}, feedback.Attempt{Number: 1}), "a deleted segment")
	require.NoError(t, e.RunTask(t.Context(), feedback.Task{Kind: feedback.TaskDeleteAudio, AudioKey: "nothing"}, feedback.Attempt{Number: 1}))
	var p interface{ Permanent() bool }
	require.True(t, errors.As(e.RunTask(t.Context(), feedback.Task{Kind: "fly"}, feedback.Attempt{}), &p) && p.Permanent())

	seg, task := e.add(e.lesson(), "x")
	for _, name := range e.files() {
		require.NoError(t, os.Remove(name))
	}
	e.speech.answer = func(_ context.Context, a feedback.Audio) (feedback.Transcript, error) {
		_, err := a.Open()
		return feedback.Transcript{}, err
	}
	err := e.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "t", Number: 1, MaxAttempts: 3})
	require.True(t, errors.As(err, &p) && p.Permanent())
	got := e.get(seg)
	require.Equal(t, feedback.SegmentFailed, got.State)
	require.Equal(t, "the recording no longer exists", got.Error)
}

// TestDatabaseLostWhileTranscribing: what was recognised is not lost for ever, and costs no attempt.
func TestDatabaseLostWhileTranscribing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	_, task := e.add(e.lesson(), "x")
	e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) {
		require.NoError(t, e.store.Close())
		return feedback.Transcript{Text: "heard"}, nil
	}
	err := e.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "t", Number: 3, MaxAttempts: 3})
	require.ErrorIs(t, err, feedback.ErrUnavailable)
	var r interface{ RetryAfter() time.Duration }
	require.True(t, errors.As(err, &r) && r.RetryAfter() > 0)
}
