package feedbacktest

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func sessionsConcurrent(t *testing.T, b *book) {
	p := b.profile("Ming")
	var mu sync.Mutex
	ids, made := map[uuid.UUID]bool{}, 0
	for _, err := range all(16, func(int) error {
		s, created, err := b.Store.OpenSession(t.Context(), b.newSession(p))
		mu.Lock()
		defer mu.Unlock()
		ids[s.ID] = true
		if created {
			made++
		}
		return err
	}) {
		require.NoError(t, err)
	}
	require.Len(t, ids, 1)
	require.Equal(t, 1, made)

	_, _, err := b.Store.OpenSession(t.Context(), b.newSession(feedback.Profile{ID: newID()}))
	require.Equal(t, "profile_id", field(t, err))
}

func sessionsEdits(t *testing.T, b *book) {
	s := b.session(b.profile("Ming"))
	text, date := "画得很好\n", "2026-06-01"
	at := b.tick()
	got, err := b.Store.EditSession(t.Context(), b.teacher, s.ID, feedback.SessionEdit{FeedbackText: &text}, at)
	require.NoError(t, err)
	require.Equal(t, text, got.FeedbackText)
	require.Equal(t, s.Date, got.Date)
	require.Equal(t, at, got.UpdatedAt)
	require.Greater(t, got.Version, s.Version)
	require.Greater(t, got.Revision, s.Revision)

	_, err = b.Store.EditSession(t.Context(), b.teacher, s.ID, feedback.SessionEdit{Date: &date, IfVersion: []int64{s.Version}}, b.tick())
	require.ErrorIs(t, err, feedback.ErrStale)
	_, err = b.Store.EditSession(t.Context(), b.teacher, s.ID, feedback.SessionEdit{Date: &date, IfVersion: []int64{}}, b.tick())
	require.ErrorIs(t, err, feedback.ErrStale, "no version matches none")
	got, err = b.Store.EditSession(t.Context(), b.teacher, s.ID, feedback.SessionEdit{Date: &date, IfVersion: []int64{s.Version, got.Version}}, b.tick())
	require.NoError(t, err)
	require.Equal(t, date, got.Date)
	require.Equal(t, text, got.FeedbackText)

	require.NoError(t, b.Store.SaveGenerated(t.Context(), b.teacher, s.ID, "summary", b.tick()))
	again, err := b.Store.Session(t.Context(), b.teacher, s.ID)
	require.NoError(t, err)
	require.Equal(t, "summary", again.GeneratedText)
	require.Equal(t, text, again.FeedbackText)
	require.Equal(t, got.Version, again.Version, "a summary is no edit")
	_, err = b.Store.EditSession(t.Context(), b.teacher, newID(), feedback.SessionEdit{}, b.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)

	// Two devices with the same version: one wins.
	var stale int
	for _, err := range all(8, func(int) error {
		_, err := b.Store.EditSession(t.Context(), b.teacher, s.ID, feedback.SessionEdit{FeedbackText: &text, IfVersion: []int64{again.Version}}, b.tick())
		return err
	}) {
		if errors.Is(err, feedback.ErrStale) {
			stale++
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 7, stale)
}

func sessionsCompleted(t *testing.T, b *book) {
	p := b.profile("Ming")
	s := b.session(p)
	l := b.lesson(s)
	require.NoError(t, b.Store.InsertRecord(t.Context(), feedback.Record{ID: newID(), TeacherID: b.teacher, ProfileID: p.ID, Date: "2026-05-31",
		Content: "x", SessionID: uuid.NullUUID{UUID: s.ID, Valid: true}, CreatedAt: b.tick()}))
	text := "late"
	_, err := b.Store.EditSession(t.Context(), b.teacher, s.ID, feedback.SessionEdit{FeedbackText: &text}, b.tick())
	require.ErrorIs(t, err, feedback.ErrSessionCompleted)
	require.ErrorIs(t, b.Store.SaveGenerated(t.Context(), b.teacher, s.ID, "late", b.tick()), feedback.ErrSessionCompleted)
	_, err = b.Store.StartLesson(t.Context(), b.teacher, feedback.Lesson{ID: newID(), SessionID: s.ID, State: feedback.LessonRecording, StartedAt: b.tick()})
	require.ErrorIs(t, err, feedback.ErrSessionCompleted)
	got, err := b.Store.Session(t.Context(), b.teacher, s.ID)
	require.NoError(t, err)
	require.Empty(t, got.FeedbackText)
	require.Empty(t, got.GeneratedText)

	// What trails behind still arrives.
	b.segment(l, 0)
	l, err = b.Store.EditLesson(t.Context(), b.teacher, l.ID, feedback.LessonEdit{Finish: true}, b.tick())
	require.NoError(t, err)
	require.Equal(t, feedback.LessonFinished, l.State)
}

func lessonsInTurn(t *testing.T, b *book) {
	s := b.session(b.profile("Ming"))
	first := b.lesson(s)
	require.Equal(t, 1, first.Number)
	_, err := b.Store.StartLesson(t.Context(), b.teacher, feedback.Lesson{ID: newID(), SessionID: s.ID, State: feedback.LessonRecording, StartedAt: b.tick()})
	require.ErrorIs(t, err, feedback.ErrLessonInProgress)
	var e *feedback.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, first.ID, e.LessonID)

	at := b.tick()
	done, err := b.Store.EditLesson(t.Context(), b.teacher, first.ID, feedback.LessonEdit{Finish: true}, at)
	require.NoError(t, err)
	require.Equal(t, feedback.LessonFinished, done.State)
	require.Equal(t, at, done.FinishedAt)
	require.False(t, done.Applied)
	again, err := b.Store.EditLesson(t.Context(), b.teacher, first.ID, feedback.LessonEdit{Finish: true}, b.tick())
	require.NoError(t, err)
	require.Equal(t, done, again, "finished once")
	applied, err := b.Store.EditLesson(t.Context(), b.teacher, first.ID, feedback.LessonEdit{Apply: true}, b.tick())
	require.NoError(t, err)
	require.True(t, applied.Applied)
	require.Equal(t, at, applied.FinishedAt)

	second := b.lesson(s)
	require.Equal(t, 2, second.Number)
	b.segment(second, 3)
	b.segment(second, 1)
	whole, err := b.Store.Session(t.Context(), b.teacher, s.ID)
	require.NoError(t, err)
	require.Len(t, whole.Lessons, 2)
	require.Equal(t, applied, whole.Lessons[0])
	require.Equal(t, []int{1, 3}, []int{whole.Lessons[1].Segments[0].Sequence, whole.Lessons[1].Segments[1].Sequence}, "by sequence")
	one, err := b.Store.Lesson(t.Context(), b.teacher, second.ID)
	require.NoError(t, err)
	require.Equal(t, whole.Lessons[1], one)
	active, err := b.Store.ActiveSession(t.Context(), b.teacher, s.ProfileID)
	require.NoError(t, err)
	require.Equal(t, whole, active)
}

func lessonsConcurrent(t *testing.T, b *book) {
	s := b.session(b.profile("Ming"))
	started := 0
	for _, err := range all(8, func(int) error {
		_, err := b.Store.StartLesson(t.Context(), b.teacher, feedback.Lesson{ID: newID(), SessionID: s.ID, State: feedback.LessonRecording, StartedAt: b.tick()})
		return err
	}) {
		if err == nil {
			started++
		} else {
			require.ErrorIs(t, err, feedback.ErrLessonInProgress)
		}
	}
	require.Equal(t, 1, started)
}

func changesInOrder(t *testing.T, b *book) {
	s := b.session(b.profile("Ming"))
	_, start, err := b.Store.Changes(t.Context(), b.teacher, s.ID, 0)
	require.NoError(t, err)
	l := b.lesson(s)
	g := b.segment(l, 0)
	h := b.segment(l, 1)
	_, err = b.Store.StartTranscription(t.Context(), g.ID, "token", 1, b.tick())
	require.NoError(t, err)

	events, revision, err := b.Store.Changes(t.Context(), b.teacher, s.ID, start)
	require.NoError(t, err)
	require.Len(t, events, 3, "the last state of each")
	require.Equal(t, l.ID, events[0].Lesson.ID)
	require.Equal(t, h.ID, events[1].Segment.ID)
	require.Equal(t, g.ID, events[2].Segment.ID)
	require.Equal(t, feedback.SegmentTranscribing, events[2].Segment.State)
	require.Equal(t, revision, events[2].Revision)
	for i := 1; i < len(events); i++ {
		require.Greater(t, events[i].Revision, events[i-1].Revision)
	}
	events, same, err := b.Store.Changes(t.Context(), b.teacher, s.ID, revision)
	require.NoError(t, err)
	require.Empty(t, events)
	require.Equal(t, revision, same)
}
