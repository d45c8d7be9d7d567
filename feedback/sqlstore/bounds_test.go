package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// lessonWithTexts adds a finished lesson with a segment for each text.
func (f *fixture) lessonWithTexts(s feedback.Session, texts ...string) feedback.Lesson {
	f.t.Helper()
	l := f.lesson(s)
	for i, text := range texts {
		f.transcribed(l, i, text)
	}
	l, err := f.Store.EditLesson(f.t.Context(), f.teacher, l.ID, feedback.LessonEdit{Finish: true}, f.tick())
	require.NoError(f.t, err)
	return l
}

func sessionsBounded(t *testing.T, f *fixture) {
	s := f.session(f.profile("Ming"))
	half := strings.Repeat("课", feedback.MaxPageText/6) // three bytes each
	old := f.lessonWithTexts(s, half, "a few more")
	large := f.lessonWithTexts(s, half, half, "a few more")
	fits := f.lessonWithTexts(s, half)
	last := f.lesson(s)
	f.segment(last, 0)

	require.True(t, large.Truncated)
	require.Empty(t, large.Segments)
	require.Equal(t, feedback.SegmentCounts{Total: 3, Transcribed: 3}, large.Counts)
	require.False(t, old.Truncated)

	active, err := f.Store.ActiveSession(t.Context(), f.teacher, s.ProfileID)
	require.NoError(t, err)
	opened, _, err := f.Store.OpenSession(t.Context(), f.newSession(feedback.Profile{ID: s.ProfileID}))
	require.NoError(t, err)
	edit := feedback.SessionEdit{FeedbackText: new("saved")}
	edited, err := f.Store.EditSession(t.Context(), f.teacher, s.ID, edit, f.tick())
	require.NoError(t, err)
	for name, got := range map[string]feedback.Session{
		"Session": f.whole(s.ID), "ActiveSession": active, "OpenSession": opened, "EditSession": edited,
	} {
		var truncated []bool
		var segments []int
		for _, l := range got.Lessons {
			truncated, segments = append(truncated, l.Truncated), append(segments, len(l.Segments))
		}
		require.Equal(t, []bool{true, true, false, false}, truncated, name)
		require.Equal(t, []int{0, 0, 1, 1}, segments, name)
		require.Equal(t, old.Counts, got.Lessons[0].Counts, name)
		require.Equal(t, fits.Segments, got.Lessons[2].Segments, name)
		require.Equal(t, feedback.SegmentCounts{Total: 1, Queued: 1}, got.Lessons[3].Counts, name)
	}
}

// pagesBounded: a page of long texts ends early, and has one item at least.
func pagesBounded(t *testing.T, f *fixture) {
	longest := strings.Repeat("画", 20_000)
	p := f.profile("Ming")
	for range 6 {
		require.NoError(t, f.insert(f.newRecord(p, longest, uuid.Nil)))
	}
	records, more, err := f.Store.Records(t.Context(), f.teacher, feedback.RecordFilter{}, nil, 200)
	require.NoError(t, err)
	require.Len(t, records, 4) // of 60 kB each
	require.True(t, more)
	last := records[3]
	after := &feedback.RecordKey{Date: last.Date, CreatedAt: last.CreatedAt, ID: last.ID}
	records, more, err = f.Store.Records(t.Context(), f.teacher, feedback.RecordFilter{}, after, 200)
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.False(t, more)

	p.Grade, p.Subject, p.Term, p.GuardianTitle = longest[:300], longest[:300], longest[:300], longest[:300]
	for range 200 {
		p.ID, p.Name = newID(), longest[:300]
		_, err := f.Store.InsertProfile(t.Context(), p, nil)
		require.NoError(t, err)
	}
	profiles, more, err := f.Store.Profiles(t.Context(), f.teacher, feedback.ProfileFilter{}, nil, 200)
	require.NoError(t, err)
	require.Greater(t, len(profiles), 100)
	require.Less(t, len(profiles), 140)
	require.True(t, more)
}

func segmentsPaged(t *testing.T, f *fixture) {
	s := f.session(f.profile("Ming"))
	big := strings.Repeat("x", feedback.MaxPageText)
	l := f.lessonWithTexts(s, "a", "b", big, big, "c")
	pages := func(limit int) (pages [][]int) {
		for after, more := -1, true; more; {
			var segments []feedback.Segment
			var err error
			segments, more, err = f.Store.Segments(t.Context(), f.teacher, l.ID, after, limit)
			require.NoError(t, err)
			require.NotEmpty(t, segments)
			var page []int
			for _, g := range segments {
				require.NotEmpty(t, g.Text)
				page = append(page, g.Sequence)
				after = g.Sequence
			}
			pages = append(pages, page)
		}
		return pages
	}
	require.Equal(t, [][]int{{0, 1}, {2}, {3}, {4}}, pages(10))
	require.Equal(t, [][]int{{0}, {1}, {2}, {3}, {4}}, pages(1))

	_, _, err := f.Store.Segments(t.Context(), newID(), l.ID, -1, 10)
	require.ErrorIs(t, err, feedback.ErrNotFound, "another teacher")
	segments, more, err := f.Store.Segments(t.Context(), f.teacher, f.lesson(s).ID, -1, 10)
	require.NoError(t, err)
	require.Empty(t, segments)
	require.False(t, more)
}

func changesBounded(t *testing.T, f *fixture) {
	s := f.session(f.profile("Ming"))
	big := strings.Repeat("x", feedback.MaxPageText)
	l := f.lessonWithTexts(s, "a", big, big, "b")
	end := f.whole(s.ID)
	var order []string
	since, looks := int64(0), 0
	for ; ; looks++ {
		events, revision, err := f.Store.Changes(t.Context(), f.teacher, s.ID, since)
		require.NoError(t, err)
		if len(events) == 0 {
			require.Equal(t, end.Revision, revision)
			break
		}
		size := 0
		for _, e := range events {
			require.Greater(t, e.Revision, since)
			require.LessOrEqual(t, e.Revision, revision)
			if e.Lesson != nil {
				order = append(order, "lesson")
			} else {
				order, size = append(order, e.Segment.Text[:1]), size+len(e.Segment.Text)
			}
		}
		require.LessOrEqual(t, size, feedback.MaxPageText+1)
		since = revision
	}
	require.Equal(t, []string{"a", "x", "x", "b", "lesson"}, order)
	require.Greater(t, looks, 2)
	require.True(t, l.Truncated)
}
