package feedback_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbacktest"
)

func TestRunTaskSetsTheStateAsTheErrorRequires(t *testing.T) {
	t.Parallel()
	unavailable := fault{after: time.Minute, public: "the recogniser is busy", code: "recogniser_unavailable"}
	refused := fault{permanent: true, public: "the audio is damaged"}
	type attempt = feedback.Attempt
	type want struct {
		state    feedback.SegmentState
		code     string
		message  string
		attempts int
	}
	for name, c := range map[string]struct {
		text    string
		err     error
		attempt attempt
		want    want
	}{
		"transcribed": {" 画得很好\x00\n", nil, attempt{Number: 2, MaxAttempts: 3},
			want{feedback.SegmentTranscribed, "", "", 2}},
		"unavailable does not count": {"", unavailable, attempt{Number: 2, MaxAttempts: 3},
			want{feedback.SegmentQueued, "recogniser_unavailable", "the recogniser is busy", 1}},
		"unavailable on the last attempt": {"", fmt.Errorf("wrapped: %w", unavailable),
			attempt{Number: 3, MaxAttempts: 3},
			want{feedback.SegmentQueued, "recogniser_unavailable", "the recogniser is busy", 2}},
		"refused on the first attempt": {"", refused, attempt{Number: 1, MaxAttempts: 3},
			want{feedback.SegmentFailed, "audio_unusable", "the audio is damaged", 1}},
		"another failure is tried again": {"", errOrdinary, attempt{Number: 2, MaxAttempts: 3},
			want{feedback.SegmentQueued, "recogniser_failed", "the recogniser failed", 2}},
		"another failure on the last attempt": {"", errOrdinary, attempt{Number: 3, MaxAttempts: 3},
			want{feedback.SegmentFailed, "recogniser_failed", "the recogniser failed", 3}},
		"a code that is not known is not shown": {"", fault{public: "new", code: "new_code"}, attempt{Number: 2},
			want{feedback.SegmentQueued, "recogniser_failed", "new", 2}},
		"a negative limit is none": {"", errOrdinary, attempt{Number: 99, MaxAttempts: -1},
			want{feedback.SegmentQueued, "recogniser_failed", "the recogniser failed", 99}},
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
			require.Equal(t, c.want, want{got.State, got.ErrorCode, got.Error, got.Attempts})
			require.Contains(t, append(feedback.FailureCodes(), ""), got.ErrorCode)
			if c.want.state == feedback.SegmentTranscribed {
				require.Equal(t, "画得很好", got.Text)
				require.Equal(t, 2*time.Second, got.Duration)
				require.NoError(t, e.RunTask(t.Context(), task, c.attempt), "a repeated job has nothing to do")
				require.Equal(t, got, e.get(seg))
			}
		})
	}
}

// endable is a context that a test ends with an error of its choice.
type endable struct {
	context.Context
	done chan struct{}
	err  error // set before done is closed
}

func (c *endable) Done() <-chan struct{} { return c.done }

func (c *endable) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

func TestRunTaskRequeuesWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err      error
		attempt  int
		state    feedback.SegmentState
		attempts int
	}{
		"stopped on the last attempt":   {context.Canceled, 3, feedback.SegmentQueued, 2},
		"timed out":                     {context.DeadlineExceeded, 2, feedback.SegmentQueued, 2},
		"timed out on the last attempt": {context.DeadlineExceeded, 3, feedback.SegmentFailed, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			seg, task := e.add(e.lesson(), "x")
			ctx := &endable{Context: t.Context(), done: make(chan struct{})}
			e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) {
				require.Equal(t, feedback.SegmentTranscribing, e.get(seg).State)
				ctx.err = c.err
				close(ctx.done)
				return feedback.Transcript{}, ctx.Err()
			}
			err := e.RunTask(ctx, task, feedback.Attempt{LeaseToken: "lease", Number: c.attempt, MaxAttempts: 3})
			require.ErrorIs(t, err, c.err)
			got := e.get(seg)
			require.Equal(t, c.state, got.State)
			require.Equal(t, c.attempts, got.Attempts)
			if c.err == context.DeadlineExceeded {
				e.requireFailure(seg, "transcription_timeout", "the transcription took too long")
			}
		})
	}
}

func TestSupersededAttemptChangesNothing(t *testing.T) {
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

// TestTranscribedAgain: in another language, with the old text until the new one is there.
func TestTranscribedAgain(t *testing.T) {
	t.Parallel()
	heard := &listening{}
	e := newEnv(t, func(c *feedback.Config) {
		c.Summarizer = heard
		c.Limits = feedback.Limits{Segments: 6}
	})
	l := e.lesson()
	seg, task := e.add(l, "x")
	var languages []string
	answer := func(text string, err error) {
		e.speech.answer = func(_ context.Context, a feedback.Audio) (feedback.Transcript, error) {
			languages = append(languages, a.Language)
			return feedback.Transcript{Text: text}, err
		}
	}
	summed := func() string {
		_, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
		require.NoError(t, err)
		return heard.heard.Lessons[0].Text
	}
	answer("hello", nil)
	require.NoError(t, e.run(task))
	for _, bad := range []string{"english", "e", "en_GB", "zh\x00", strings.Repeat("e", 1<<20)} {
		require.ErrorIs(t, errorOf(e.RetrySegment(t.Context(), e.teacher, seg.ID, bad)), feedback.ErrInvalid)
		require.ErrorIs(t, errorOf(e.RetryLesson(t.Context(), e.teacher, l.ID, bad)), feedback.ErrInvalid)
	}
	again, err := e.RetrySegment(t.Context(), e.teacher, seg.ID, "zh-CN")
	require.NoError(t, err)
	require.Equal(t, feedback.SegmentQueued, again.State)
	require.Equal(t, "hello", summed(), "while it waits")
	answer("", fault{permanent: true, public: "no"})
	require.Error(t, e.run(e.take()[0]))
	got := e.get(seg)
	require.Equal(t, []any{feedback.SegmentTranscribed, "hello", "no"}, []any{got.State, got.Text, got.Error})
	require.Equal(t, "hello", summed(), "after it has failed")

	_, err = e.RetrySegment(t.Context(), e.teacher, seg.ID, "")
	require.NoError(t, err)
	require.NoError(t, e.CancelTask(t.Context(), e.take()[0]))
	require.Equal(t, "hello", e.get(seg).Text)
	_, task = e.add(l, "y")
	answer("second", nil)
	require.NoError(t, e.run(task))
	whole, err := e.RetryLesson(t.Context(), e.teacher, l.ID, "zh")
	require.NoError(t, err)
	require.Equal(t, 2, whole.Counts.Queued)
	answer("你好", nil)
	for _, task := range e.take() {
		require.NoError(t, e.run(task))
		require.NoError(t, e.run(task), "its worker died after it")
	}
	require.Equal(t, "你好\n你好", summed())
	require.Empty(t, e.get(seg).Error)
	require.Equal(t, []string{"", "zh-CN", "", "zh", "zh"}, languages)

	require.ErrorIs(t, errorOf(e.RetryLesson(t.Context(), e.teacher, l.ID, "")), feedback.ErrLimit, "six a day")
	require.ErrorIs(t, errorOf(e.RetrySegment(t.Context(), e.teacher, seg.ID, "")), feedback.ErrLimit)
	require.Empty(t, e.take())
}

func TestRunTaskWithoutSegmentOrAudio(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	require.NoError(t, e.RunTask(t.Context(), feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: uuid.New()},
		feedback.Attempt{LeaseToken: "lease", Number: 1}), "a deleted segment")
	for _, a := range []feedback.Attempt{{LeaseToken: "lease"}, {Number: 1}} { // it could not be told from others
		require.ErrorContains(t, e.RunTask(t.Context(), feedback.Task{Kind: feedback.TaskTranscribe}, a), "LeaseToken")
	}
	require.NoError(t, e.RunTask(t.Context(), feedback.Task{Kind: feedback.TaskDeleteAudio, AudioKey: "nothing"},
		feedback.Attempt{Number: 1}))
	var p interface{ Permanent() bool }
	require.True(t, errors.As(e.RunTask(t.Context(), feedback.Task{Kind: "fly"}, feedback.Attempt{}), &p) &&
		p.Permanent())
}

// It would be in answers, of which each is small.
func TestATextThatNobodyCanHaveSaidIsAFailure(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	seg, task := e.add(e.lesson(), "x")
	e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) {
		return feedback.Transcript{Text: strings.Repeat("x", 1<<20+1)}, nil
	}
	require.ErrorContains(t, e.run(task), "1048577 bytes of text")
	e.requireFailure(seg, "recogniser_failed", "the recogniser failed")
}

// The attempt does not count if its result cannot be stored.
func TestDatabaseLostDuringTranscription(t *testing.T) {
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
