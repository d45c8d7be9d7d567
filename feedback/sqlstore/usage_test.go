package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// usage returns the teacher's usage on the day of a time.
func (f *fixture) usage(at time.Time) feedback.Usage {
	f.t.Helper()
	u, err := f.Store.Usage(f.t.Context(), f.teacher, at)
	require.NoError(f.t, err)
	return u
}

func usageCounted(t *testing.T, f *fixture) {
	require.Zero(t, f.usage(f.now))
	p := f.profile("Ming")
	s := f.session(p)
	_, created, err := f.Store.OpenSession(t.Context(), f.newSession(p))
	require.NoError(t, err)
	require.False(t, created)
	l := f.lesson(s)
	g := f.segment(l, 0)
	_, created, err = f.Store.InsertSegment(t.Context(), f.newSegment(l, 0, g.SHA256), false)
	require.NoError(t, err)
	require.False(t, created)
	text := int64(len("Ming") + len("3") + len("Art") + len("spring") + len("mother"))
	want := feedback.Usage{Sessions: 1, Segments: 1, Bytes: g.Size, TextBytes: text, TextRows: 2}
	require.Equal(t, want, f.usage(f.now), "what was there already does not count")

	f.FailOutbox(errOutbox)
	n := f.newSegment(l, 1, "other")
	_, _, err = f.Store.InsertSegment(t.Context(), n, false)
	require.ErrorIs(t, err, errOutbox)
	f.FailOutbox(nil)
	_, err = f.Store.Segment(t.Context(), f.teacher, n.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound, "no row without a task")
	require.Equal(t, want, f.usage(f.now), "what was rolled back does not count")

	require.NoError(t, f.Store.DeleteProfile(t.Context(), f.teacher, p.ID))
	require.Equal(t, want, f.usage(f.now), "what was deleted counts")
	other, err := f.Store.Usage(t.Context(), uuid.New(), f.now)
	require.NoError(t, err)
	require.Zero(t, other, "of another teacher")
}

func textCounted(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	s := f.session(p)
	counts := func(what string, bytes int64, rows int, store func() error) {
		t.Helper()
		before := f.usage(f.now)
		require.NoError(t, store(), what)
		after := f.usage(f.now)
		require.Equal(t, bytes, after.TextBytes-before.TextBytes, what)
		require.Equal(t, rows, after.TextRows-before.TextRows, what)
	}
	record := f.newRecord(p, "课", uuid.Nil)
	ctx, key := t.Context(), &feedback.IdempotencyKey{Key: "k", UsedAt: f.now, ExpiredAt: f.now.Add(-time.Hour)}
	insert := func() error {
		record.ID = newID()
		_, _, err := f.Store.InsertRecord(ctx, record, key)
		return err
	}
	save := func(text string) func() error {
		return func() error {
			_, err := f.Store.EditSession(ctx, f.teacher, s.ID, feedback.SessionEdit{FeedbackText: &text}, f.now)
			return err
		}
	}
	counts("a record", 3, 1, insert)
	counts("the same request again", 0, 0, insert)
	counts("a text", 5, 0, save("hello"))
	counts("a longer text", 2, 0, save("hello!!"))
	counts("a shorter text", 0, 0, save("!"))
	counts("a summary", 4, 0, func() error { return f.Store.SaveGenerated(ctx, f.teacher, s.ID, "text", f.now) })
	counts("words", 6, 0, func() error { return f.Store.SaveWords(ctx, f.teacher, []string{"Ada", "Bob"}, f.now) })
	counts("defaults", 3, 0, func() error {
		return f.Store.SaveDefaults(ctx, f.teacher, feedback.Defaults{Subject: "Art", LessonDurationMinutes: 1}, f.now)
	})
	counts("a replaced profile", 20, 0, func() error { _, err := f.Store.ReplaceProfile(ctx, p); return err })

	record.Content, key.Key = "\uFDFA", "a letter"
	counts("a letter that is found by the eighteen it stands for", 33, 1, insert)
	record.Content, record.SessionID = "课", uuid.NullUUID{UUID: s.ID, Valid: true}
	key = &feedback.IdempotencyKey{Key: "other", UsedAt: f.now, ExpiredAt: f.now.Add(-time.Hour)}
	counts("a record of a session", 3, 1, insert)
	stored := record.ID
	key = &feedback.IdempotencyKey{Key: "third", UsedAt: f.now, ExpiredAt: f.now.Add(-time.Hour)}
	counts("the same record with another key, which is a row", 0, 1, insert)
	require.Len(t, f.Tasks(t), 1)
	edit := func() error {
		e := feedback.RecordEdit{Date: "2026-06-01", Content: "琴"}
		_, err := f.Store.EditRecord(ctx, f.teacher, stored, e, f.now)
		return err
	}
	counts("an edited record, whose task is a row", 0, 1, edit)
	require.Len(t, f.Tasks(t), 1)
	counts("the same text", 0, 0, edit)
	require.Empty(t, f.Tasks(t))
}

func usageOfADay(t *testing.T, f *fixture) {
	day := time.Date(2026, 5, 31, 0, 0, 0, 0, time.UTC)
	add := func(at time.Time) feedback.Usage {
		u, err := f.Store.AddUsage(t.Context(), f.teacher, feedback.Usage{Summaries: 1, Bytes: 5 << 40}, at)
		require.NoError(t, err)
		return u
	}
	require.Equal(t, feedback.Usage{Summaries: 1, Bytes: 5 << 40}, add(day))
	last := day.Add(24*time.Hour - time.Microsecond)
	require.Equal(t, feedback.Usage{Summaries: 2, Bytes: 10 << 40}, add(last))
	require.Equal(t, 2, f.usage(day).Summaries)
	require.Zero(t, f.usage(day.Add(24*time.Hour)))
	next := day.Add(24 * time.Hour)
	require.Equal(t, 1, add(next).Summaries)
	require.Equal(t, 2, add(last).Summaries, "what comes late counts for the next day")
	require.Equal(t, 2, f.usage(next).Summaries)
	require.Equal(t, 3, add(next).Summaries)
	require.Equal(t, 1, add(day.Add(-24*time.Hour)).Summaries, "a clock that was wrong is corrected")
}
