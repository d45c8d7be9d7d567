package feedback_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// follow starts following and waits until the follower listens.
func follow(t *testing.T, s *feedback.Service, teacher, session uuid.UUID, since int64) (next func() feedback.Event) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	pull, stop := iter.Pull2(s.Events(ctx, teacher, session, since))
	t.Cleanup(stop)
	t.Cleanup(cancel)
	return func() feedback.Event {
		t.Helper()
		timer := time.AfterFunc(20*time.Second, cancel)
		defer timer.Stop()
		e, err, ok := pull()
		require.True(t, ok, "no event came")
		require.NoError(t, err)
		return e
	}
}

func TestEventsOfThisProcessComeOneByOne(t *testing.T) {
	t.Parallel()
	e := newEnv(t) // asks the store once an hour: what comes, comes by itself
	l := e.lesson()
	before, err := e.Session(t.Context(), e.teacher, l.SessionID)
	require.NoError(t, err)
	seg, task := e.add(l, "x")
	next := follow(t, e.Service, e.teacher, l.SessionID, before.Revision)
	require.Equal(t, feedback.SegmentQueued, next().Segment.State, "what was missed")

	require.NoError(t, e.Perform(t.Context(), task, feedback.Attempt{Token: "t", Number: 1}))
	_, err = e.FinishLesson(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	_, err = e.FinishLesson(t.Context(), e.teacher, l.ID) // changes nothing, tells nothing
	require.NoError(t, err)
	_, err = e.MarkApplied(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)

	last := before.Revision
	for _, want := range []string{"transcribing", "transcribed", "finished", "applied"} {
		got := next()
		require.Greater(t, got.Revision, last)
		last = got.Revision
		switch {
		case got.Segment != nil:
			require.Equal(t, seg.ID, got.Segment.ID)
			require.Equal(t, want, string(got.Segment.State))
		case want == "applied":
			require.True(t, got.Lesson.Applied)
		default:
			require.Equal(t, want, string(got.Lesson.State))
			require.False(t, got.Lesson.Applied)
			require.Nil(t, got.Lesson.Segments)
		}
	}
}

func TestEventsOfAnotherProcessAreFound(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	_, task := e.add(l, "x")
	session, err := e.Session(t.Context(), e.teacher, l.SessionID)
	require.NoError(t, err)
	other := e.service(func(c *feedback.Config) { c.PollInterval = 5 * time.Millisecond })
	next := follow(t, other, e.teacher, l.SessionID, session.Revision)
	require.NoError(t, e.Perform(t.Context(), task, feedback.Attempt{Token: "t", Number: 1}))
	for {
		got := next()
		require.NotNil(t, got.Segment)
		if got.Segment.State == feedback.SegmentTranscribed {
			require.Equal(t, "hello", got.Segment.Text)
			break
		}
		require.Equal(t, feedback.SegmentTranscribing, got.Segment.State)
	}
}

// "one per segment or lesson state change", whatever event a client is cut off after.
func TestEventsGoOnFromWhereAllWasTold(t *testing.T) {
	t.Parallel()
	e := newEnv(t) // asks the store once an hour: what others do is found late
	l := e.lesson()
	before, err := e.Session(t.Context(), e.teacher, l.SessionID)
	require.NoError(t, err)
	_, task := e.add(l, "x")
	next := follow(t, e.Service, e.teacher, l.SessionID, before.Revision)
	queued := next()
	require.Equal(t, queued.Revision, queued.Resume)
	_, err = e.MarkApplied(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	applied := next()
	require.Equal(t, applied.Revision, applied.Resume, "nothing lies between")

	require.NoError(t, e.service().Perform(t.Context(), task, feedback.Attempt{Token: "t", Number: 1}))
	_, err = e.FinishLesson(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	finished := next()
	require.Equal(t, feedback.LessonFinished, finished.Lesson.State)
	require.Equal(t, applied.Resume, finished.Resume, "the segment is not told yet")

	again := follow(t, e.service(), e.teacher, l.SessionID, finished.Resume)
	transcribed := again()
	require.Equal(t, feedback.SegmentTranscribed, transcribed.Segment.State)
	require.Greater(t, transcribed.Resume, finished.Resume)
	require.Equal(t, finished.Revision, again().Resume)
}

// "one per … state change": none where nothing changes.
func TestEventsTellNothingOfTheSameAgain(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	_, err := e.FinishLesson(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	before, err := e.Session(t.Context(), e.teacher, l.SessionID)
	require.NoError(t, err)
	e.add(l, "x")
	next := follow(t, e.Service, e.teacher, l.SessionID, before.Revision)
	require.NotNil(t, next().Segment)
	_, err = e.FinishLesson(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	_, err = e.MarkApplied(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	require.True(t, next().Lesson.Applied)
}

func TestEventsStartNowUnlessTold(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.PollInterval = time.Millisecond })
	l := e.lesson()
	e.add(l, "before")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for event, err := range e.Events(ctx, e.teacher, l.SessionID, -1) {
		t.Errorf("told %v, %v of the past", event, err)
	}
}

func TestEventsEndWithAnErrorWhenTheSessionIsGone(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.PollInterval = time.Millisecond })
	l := e.lesson()
	for _, err := range e.Events(t.Context(), uuid.New(), l.SessionID, -1) {
		require.ErrorIs(t, err, feedback.ErrNotFound, "another teacher's")
	}
	session, err := e.Session(t.Context(), e.teacher, l.SessionID)
	require.NoError(t, err)
	var last error
	for _, err := range e.Events(t.Context(), e.teacher, l.SessionID, 0) {
		if last = err; err != nil {
			break
		}
		require.NoError(t, e.DeleteProfile(t.Context(), e.teacher, session.ProfileID))
	}
	require.ErrorIs(t, last, feedback.ErrNotFound, "got %v", last)
}
