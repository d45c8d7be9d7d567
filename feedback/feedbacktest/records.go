package feedbacktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

var errOutbox = errors.New("the outbox is full")

func recordsRoundTrip(t *testing.T, b *book) {
	p := b.profile("Ming")
	s := b.session(p)
	r := feedback.Record{ID: newID(), TeacherID: b.teacher, ProfileID: p.ID, Date: "2026-05-31",
		Content: strings.Repeat("画", 20_000-1) + "\n", SessionID: uuid.NullUUID{UUID: s.ID, Valid: true}, CreatedAt: b.tick()}
	require.NoError(t, b.Store.InsertRecord(t.Context(), r))
	got, err := b.Store.Records(t.Context(), b.teacher, feedback.RecordFilter{}, nil, 10)
	require.NoError(t, err)
	require.Equal(t, []feedback.Record{r}, got)
	require.NoError(t, b.Store.DeleteRecord(t.Context(), b.teacher, r.ID))
	require.ErrorIs(t, b.Store.DeleteRecord(t.Context(), b.teacher, r.ID), feedback.ErrNotFound)
}

func recordsPages(t *testing.T, b *book) {
	ming, li := b.profile("Ming"), b.profile("Li")
	early, late := b.tick(), b.tick()
	var want []uuid.UUID // newest first
	for _, r := range []feedback.Record{
		b.record(ming, "2026-01-02", early), b.record(ming, "2026-01-02", early), // a tie: by identifier
		b.record(ming, "2026-01-02", late), b.record(li, "2026-01-03", early),
		b.record(ming, "2026-02-01", early), b.record(ming, "2026-02-01", late),
	} {
		want = append([]uuid.UUID{r.ID}, want...)
	}
	walk := func(f feedback.RecordFilter) (ids []uuid.UUID) {
		var after *feedback.RecordKey
		for {
			page, err := b.Store.Records(t.Context(), b.teacher, f, after, 2)
			require.NoError(t, err)
			if len(page) == 0 {
				return ids
			}
			for _, r := range page {
				ids = append(ids, r.ID)
			}
			last := page[len(page)-1]
			after = &feedback.RecordKey{Date: last.Date, CreatedAt: last.CreatedAt, ID: last.ID}
			b.record(ming, "2026-12-31", b.tick()) // newer than the place that was reached: shifts nothing
		}
	}
	require.Equal(t, want, walk(feedback.RecordFilter{})[:6])
	require.Equal(t, []uuid.UUID{want[2]}, walk(feedback.RecordFilter{ProfileID: uuid.NullUUID{UUID: li.ID, Valid: true}}))
	require.Empty(t, walk(feedback.RecordFilter{ProfileID: uuid.NullUUID{UUID: newID(), Valid: true}}))
}

func recordsReferences(t *testing.T, b *book) {
	ming, li := b.profile("Ming"), b.profile("Li")
	s := b.session(ming)
	r := feedback.Record{ID: newID(), TeacherID: b.teacher, ProfileID: newID(), Date: "2026-05-31", Content: "x", CreatedAt: b.tick()}
	require.Equal(t, "profile_id", field(t, b.Store.InsertRecord(t.Context(), r)))
	r.ProfileID, r.SessionID = li.ID, uuid.NullUUID{UUID: s.ID, Valid: true}
	require.Equal(t, "feedback_session_id", field(t, b.Store.InsertRecord(t.Context(), r)), "another profile's session")
	r.SessionID.UUID = newID()
	require.Equal(t, "feedback_session_id", field(t, b.Store.InsertRecord(t.Context(), r)))
	got, err := b.Store.ActiveSession(t.Context(), b.teacher, ming.ID)
	require.NoError(t, err, "a refused record completes nothing")
	require.Equal(t, s.ID, got.ID)

	r.ProfileID, r.SessionID.UUID = ming.ID, s.ID
	require.NoError(t, b.Store.InsertRecord(t.Context(), r))
	_, err = b.Store.ActiveSession(t.Context(), b.teacher, ming.ID)
	require.ErrorIs(t, err, feedback.ErrNoActiveSession)
	done, err := b.Store.Session(t.Context(), b.teacher, s.ID)
	require.NoError(t, err)
	require.Equal(t, feedback.SessionCompleted, done.State)
	r.ID = newID()
	require.NoError(t, b.Store.InsertRecord(t.Context(), r), "a second record of the same session")
	b.session(ming) // there may be a new one now
}

func strangers(t *testing.T, b *book) {
	p := b.profile("Ming")
	s := b.session(p)
	l := b.lesson(s)
	g := b.segment(l, 0)
	r := b.record(p, "2026-05-31", b.tick())
	b.Tasks(t)
	other, ctx, at := uuid.New(), t.Context(), b.tick()

	profiles, err := b.Store.Profiles(ctx, other, feedback.ProfileFilter{}, nil, 10)
	require.NoError(t, err)
	require.Empty(t, profiles)
	records, err := b.Store.Records(ctx, other, feedback.RecordFilter{ProfileID: uuid.NullUUID{UUID: p.ID, Valid: true}}, nil, 10)
	require.NoError(t, err)
	require.Empty(t, records)

	stolen := p
	stolen.TeacherID = other
	for name, call := range map[string]func() error{
		"read profile":    func() error { _, err := b.Store.Profile(ctx, other, p.ID); return err },
		"replace profile": func() error { _, err := b.Store.ReplaceProfile(ctx, stolen); return err },
		"delete profile":  func() error { return b.Store.DeleteProfile(ctx, other, p.ID) },
		"delete record":   func() error { return b.Store.DeleteRecord(ctx, other, r.ID) },
		"read session":    func() error { _, err := b.Store.Session(ctx, other, s.ID); return err },
		"edit session": func() error {
			_, err := b.Store.EditSession(ctx, other, s.ID, feedback.SessionEdit{}, at)
			return err
		},
		"save generated": func() error { return b.Store.SaveGenerated(ctx, other, s.ID, "x", at) },
		"read changes":   func() error { _, _, err := b.Store.Changes(ctx, other, s.ID, 0); return err },
		"start lesson": func() error {
			_, err := b.Store.StartLesson(ctx, other, feedback.Lesson{ID: newID(), SessionID: s.ID, State: feedback.LessonRecording, StartedAt: at})
			return err
		},
		"find session": func() error { _, err := b.Store.LessonSession(ctx, other, l.ID); return err },
		"read lesson":  func() error { _, err := b.Store.Lesson(ctx, other, l.ID); return err },
		"finish lesson": func() error {
			_, err := b.Store.EditLesson(ctx, other, l.ID, feedback.LessonEdit{Finish: true}, at)
			return err
		},
		"add segment": func() error {
			n := b.newSegment(l, 1, "other")
			n.TeacherID = other
			_, _, err := b.Store.InsertSegment(ctx, n, false)
			return err
		},
		"read segment":  func() error { _, err := b.Store.Segment(ctx, other, g.ID); return err },
		"retry segment": func() error { _, err := b.Store.RetrySegment(ctx, other, g.ID, at); return err },
	} {
		require.ErrorIs(t, call(), feedback.ErrNotFound, name)
	}
	_, err = b.Store.ActiveSession(ctx, other, p.ID)
	require.ErrorIs(t, err, feedback.ErrNoActiveSession)
	foreign := b.newSession(p)
	foreign.TeacherID = other
	_, _, err = b.Store.OpenSession(ctx, foreign)
	require.Equal(t, "profile_id", field(t, err))
	require.Equal(t, "profile_id", field(t, b.Store.InsertRecord(ctx, feedback.Record{ID: newID(), TeacherID: other, ProfileID: p.ID, Date: "2026-05-31", Content: "x", CreatedAt: at})))

	whole, err := b.Store.Session(ctx, b.teacher, s.ID)
	require.NoError(t, err)
	require.Len(t, whole.Lessons, 1)
	require.Len(t, whole.Lessons[0].Segments, 1)
	require.Equal(t, feedback.LessonRecording, whole.Lessons[0].State)
	require.Empty(t, b.Tasks(t))
}

func manyWriters(t *testing.T, b *book) {
	p := b.profile("Ming")
	const n = 50
	for i, err := range all(n, func(i int) error {
		return b.Store.InsertRecord(t.Context(), feedback.Record{ID: newID(), TeacherID: b.teacher, ProfileID: p.ID,
			Date: "2026-05-31", Content: fmt.Sprint(i), CreatedAt: b.tick()})
	}) {
		require.NoError(t, err, "writer %d", i)
	}
	got, err := b.Store.Records(t.Context(), b.teacher, feedback.RecordFilter{}, nil, n+1)
	require.NoError(t, err)
	require.Len(t, got, n)
}

func endedContext(t *testing.T, b *book) {
	p := b.profile("Ming")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Store.Profile(ctx, b.teacher, p.ID)
	require.Error(t, err)
	require.NotErrorIs(t, err, feedback.ErrNotFound)
	require.Error(t, b.Store.DeleteProfile(ctx, b.teacher, p.ID))
	_, err = b.Store.Profile(t.Context(), b.teacher, p.ID)
	require.NoError(t, err)
}
