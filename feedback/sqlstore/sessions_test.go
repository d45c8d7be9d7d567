package sqlstore_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func sessionsConcurrent(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	ids, created := make([]uuid.UUID, 16), make([]bool, 16)
	for _, err := range concurrently(16, func(i int) error {
		s, isNew, err := f.Store.OpenSession(t.Context(), f.newSession(p))
		ids[i], created[i] = s.ID, isNew
		return err
	}) {
		require.NoError(t, err)
	}
	require.Len(t, slices.Compact(ids), 1)
	require.Len(t, slices.DeleteFunc(created, func(isNew bool) bool { return !isNew }), 1)

	_, _, err := f.Store.OpenSession(t.Context(), f.newSession(feedback.Profile{ID: newID()}))
	require.Equal(t, "profile_id", field(t, err))
}

func sessionsEdits(t *testing.T, f *fixture) {
	s := f.session(f.profile("Ming"))
	edit := func(e feedback.SessionEdit) (feedback.Session, error) {
		return f.Store.EditSession(t.Context(), f.teacher, s.ID, e, f.tick())
	}
	text, date := "画得很好\n", "2026-06-01"
	got, err := edit(feedback.SessionEdit{FeedbackText: &text})
	require.NoError(t, err)
	require.Equal(t, text, got.FeedbackText)
	require.Equal(t, s.Date, got.Date)
	require.Equal(t, f.now, got.UpdatedAt)
	require.Greater(t, got.Version, s.Version)
	require.Greater(t, got.Revision, s.Revision)

	for _, stale := range [][]int64{{s.Version}, {}} { // an empty list matches no version
		_, err = edit(feedback.SessionEdit{Date: &date, IfVersion: stale})
		require.ErrorIs(t, err, feedback.ErrStale)
	}
	got, err = edit(feedback.SessionEdit{Date: &date, IfVersion: []int64{s.Version, got.Version}})
	require.NoError(t, err)
	require.Equal(t, date, got.Date)
	require.Equal(t, text, got.FeedbackText)

	require.NoError(t, f.Store.SaveGenerated(t.Context(), f.teacher, s.ID, "summary", f.tick()))
	again := f.whole(s.ID)
	require.Equal(t, "summary", again.GeneratedText)
	require.Equal(t, text, again.FeedbackText)
	require.Equal(t, got.Version, again.Version, "a summary is not an edit")

	// Devices with the same version: one wins.
	var stale int
	for _, err := range concurrently(8, func(int) error {
		return errorOf(edit(feedback.SessionEdit{FeedbackText: &text, IfVersion: []int64{again.Version}}))
	}) {
		if errors.Is(err, feedback.ErrStale) {
			stale++
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 7, stale)
}

func sessionsCompleted(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	s := f.session(p)
	l := f.lesson(s)
	early := f.segment(l, 0)
	require.NoError(t, f.insert(f.newRecord(p, "x", s.ID)))
	text := "late"
	_, err := f.Store.EditSession(t.Context(), f.teacher, s.ID, feedback.SessionEdit{FeedbackText: &text}, f.tick())
	require.ErrorIs(t, err, feedback.ErrSessionCompleted)
	require.ErrorIs(t, f.Store.SaveGenerated(t.Context(), f.teacher, s.ID, "late", f.tick()),
		feedback.ErrSessionCompleted)
	_, err = f.Store.StartLesson(t.Context(), f.teacher, f.newLesson(s))
	require.ErrorIs(t, err, feedback.ErrSessionCompleted)
	got := f.whole(s.ID)
	require.Empty(t, got.FeedbackText)
	require.Empty(t, got.GeneratedText)

	// The record has no place for another recording. One that is there may be sent again, and the
	// end of a lesson still arrives.
	_, _, err = f.Store.InsertSegment(t.Context(), f.newSegment(l, 1, "late"), false)
	require.ErrorIs(t, err, feedback.ErrSessionCompleted)
	_, created, err := f.Store.InsertSegment(t.Context(), f.newSegment(l, 0, early.SHA256), false)
	require.NoError(t, err)
	require.False(t, created)
	l, err = f.Store.EditLesson(t.Context(), f.teacher, l.ID, feedback.LessonEdit{Finish: true}, f.tick())
	require.NoError(t, err)
	require.Equal(t, feedback.LessonFinished, l.State)
}

func lessonsNumbered(t *testing.T, f *fixture) {
	s := f.session(f.profile("Ming"))
	first := f.lesson(s)
	require.Equal(t, 1, first.Number)
	_, err := f.Store.StartLesson(t.Context(), f.teacher, f.newLesson(s))
	require.ErrorIs(t, err, feedback.ErrLessonInProgress)
	var e *feedback.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, first.ID, e.LessonID)

	at := f.tick()
	done, err := f.Store.EditLesson(t.Context(), f.teacher, first.ID, feedback.LessonEdit{Finish: true}, at)
	require.NoError(t, err)
	require.Equal(t, feedback.LessonFinished, done.State)
	require.Equal(t, at, done.FinishedAt)
	require.False(t, done.Applied)
	again, err := f.Store.EditLesson(t.Context(), f.teacher, first.ID, feedback.LessonEdit{Finish: true}, f.tick())
	require.NoError(t, err)
	require.Equal(t, done, again, "finished once")
	applied, err := f.Store.EditLesson(t.Context(), f.teacher, first.ID, feedback.LessonEdit{Apply: true}, f.tick())
	require.NoError(t, err)
	require.True(t, applied.Applied)
	require.Equal(t, at, applied.FinishedAt)

	second := f.lesson(s)
	require.Equal(t, 2, second.Number)
	f.segment(second, 3)
	f.segment(second, 1)
	whole := f.whole(s.ID)
	require.Len(t, whole.Lessons, 2)
	require.Equal(t, applied, whole.Lessons[0])
	require.Equal(t, []int{1, 3}, []int{whole.Lessons[1].Segments[0].Sequence, whole.Lessons[1].Segments[1].Sequence},
		"by sequence")
	one, err := f.Store.Lesson(t.Context(), f.teacher, second.ID)
	require.NoError(t, err)
	require.Equal(t, whole.Lessons[1], one)
	active, err := f.Store.ActiveSession(t.Context(), f.teacher, s.ProfileID)
	require.NoError(t, err)
	require.Equal(t, whole, active)
}

func lessonsConcurrent(t *testing.T, f *fixture) {
	s := f.session(f.profile("Ming"))
	started := 0
	for _, err := range concurrently(8, func(int) error {
		_, err := f.Store.StartLesson(t.Context(), f.teacher, f.newLesson(s))
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

func changesInOrder(t *testing.T, f *fixture) {
	s := f.session(f.profile("Ming"))
	_, start, err := f.Store.Changes(t.Context(), f.teacher, s.ID, 0)
	require.NoError(t, err)
	l := f.lesson(s)
	g := f.segment(l, 0)
	h := f.segment(l, 1)
	_, err = f.Store.StartTranscription(t.Context(), g.ID, anyRound, "token", 1, f.tick())
	require.NoError(t, err)

	events, revision, err := f.Store.Changes(t.Context(), f.teacher, s.ID, start)
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
	events, same, err := f.Store.Changes(t.Context(), f.teacher, s.ID, revision)
	require.NoError(t, err)
	require.Empty(t, events)
	require.Equal(t, revision, same)

	other := f.session(f.profile("Lan"))
	_, first, err := f.Store.Changes(t.Context(), f.teacher, other.ID, 0)
	require.NoError(t, err)
	revisions, err := f.Store.Revisions(t.Context(), []uuid.UUID{s.ID, uuid.New(), other.ID})
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]int64{s.ID: revision, other.ID: first}, revisions)
}

func sessionsListed(t *testing.T, f *fixture) {
	p, other := f.profile("Ming"), f.profile("Wei")
	f.session(other)
	var want []uuid.UUID
	for i := range 3 {
		s := f.session(p)
		want = append(want, s.ID)
		if i < 2 { // completes it
			require.NoError(t, f.insert(f.newRecord(p, "x", s.ID)))
		}
	}
	list := func(teacher, after uuid.UUID, limit int) []uuid.UUID {
		ids, err := f.Store.SessionIDs(t.Context(), teacher, p.ID, after, limit)
		require.NoError(t, err)
		return ids
	}
	require.Equal(t, want, list(f.teacher, uuid.Nil, 10))
	require.Equal(t, want[:2], list(f.teacher, uuid.Nil, 2))
	require.Equal(t, want[2:], list(f.teacher, want[1], 2))
	require.Empty(t, list(f.teacher, want[2], 2))
	require.Empty(t, list(uuid.New(), uuid.Nil, 10), "of another teacher")
}
