package feedback_test

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// follow returns a function that waits for the next event of a session.
func follow(t *testing.T, s *feedback.Service, teacher, session uuid.UUID, since int64) (next func() feedback.Event) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	pull, stop := iter.Pull2(s.Events(ctx, teacher, session, since))
	t.Cleanup(stop)
	t.Cleanup(cancel)
	return func() feedback.Event {
		t.Helper()
		timer := time.AfterFunc(2*time.Minute, cancel)
		defer timer.Stop()
		e, err, ok := pull()
		require.True(t, ok, "no event came")
		require.NoError(t, err)
		return e
	}
}

func TestEventsOfThisProcessAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t) // polls once an hour
	l := e.lesson()
	before := e.whole(l)
	seg, task := e.add(l, "x")
	next := follow(t, e.Service, e.teacher, l.SessionID, before.Revision)
	require.Equal(t, feedback.SegmentQueued, next().Segment.State, "an event of the past")

	spoken := make(chan struct{})
	e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) {
		<-spoken
		return feedback.Transcript{Text: "hello"}, nil
	}
	done := make(chan error, 1)
	go func() { done <- e.run(task) }()
	transcribing := next()
	require.Equal(t, seg.ID, transcribing.Segment.ID)
	require.Equal(t, feedback.SegmentTranscribing, transcribing.Segment.State)
	close(spoken)
	transcribed := next()
	require.NoError(t, <-done)
	require.Equal(t, feedback.SegmentTranscribed, transcribed.Segment.State)
	require.Equal(t, "hello", transcribed.Segment.Text)
	require.Greater(t, transcribed.Revision, transcribing.Revision)

	_, err := e.FinishLesson(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	finished := next()
	again := follow(t, e.service(), e.teacher, l.SessionID, transcribed.Revision)
	require.Equal(t, finished, again(), "for a client that was cut off")
	require.Equal(t, feedback.LessonFinished, finished.Lesson.State)
	require.False(t, finished.Lesson.Applied)
	require.Nil(t, finished.Lesson.Segments)
	_, err = e.FinishLesson(t.Context(), e.teacher, l.ID) // changes nothing
	require.NoError(t, err)
	_, err = e.MarkApplied(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	require.True(t, next().Lesson.Applied)
}

func TestEventsOfAnotherProcessAreFoundByPolling(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	_, task := e.add(l, "x")
	session := e.whole(l)
	other := e.service(func(c *feedback.Config) { c.PollInterval = 5 * time.Millisecond })
	next := follow(t, other, e.teacher, l.SessionID, session.Revision)
	require.NoError(t, e.run(task))
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

// countingStore counts what followers of sessions read.
type countingStore struct {
	feedback.Store
	looks, changes atomic.Int64
}

func (s *countingStore) Revisions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	s.looks.Add(1)
	return s.Store.Revisions(ctx, ids)
}

func (s *countingStore) Changes(
	ctx context.Context, teacher, session uuid.UUID, since int64,
) ([]feedback.Event, int64, error) {
	s.changes.Add(1)
	return s.Store.Changes(ctx, teacher, session, since)
}

func TestIdleFollowersShareOneLookAtTheStore(t *testing.T) {
	t.Parallel()
	store := &countingStore{}
	e := newEnv(t, func(c *feedback.Config) {
		store.Store = c.Store
		c.Store, c.PollInterval = store, time.Millisecond
	})
	l := e.lesson()
	const followers = 40
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range followers {
		group.Go(func() {
			for range e.Events(ctx, e.teacher, l.SessionID, 1<<40) {
				t.Error("nothing has changed")
			}
		})
	}
	require.Eventually(t, func() bool { return store.changes.Load() >= followers && store.looks.Load() >= 100 },
		time.Minute, time.Millisecond)
	cancel()
	group.Wait()
	require.LessOrEqual(t, store.changes.Load(), int64(3*followers), "at the start, and after the first look")
}

func TestEventsEndWithAnErrorWhenTheSessionIsDeleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.PollInterval = time.Millisecond })
	l := e.lesson()
	for _, err := range e.Events(t.Context(), uuid.New(), l.SessionID, 0) {
		require.ErrorIs(t, err, feedback.ErrNotFound, "another teacher's")
	}
	session := e.whole(l)
	var last error
	for _, err := range e.Events(t.Context(), e.teacher, l.SessionID, 0) {
		if last = err; err != nil {
			break
		}
		require.NoError(t, e.DeleteProfile(t.Context(), e.teacher, session.ProfileID))
	}
	require.ErrorIs(t, last, feedback.ErrNotFound, "got %v", last)
}
