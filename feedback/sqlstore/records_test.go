package sqlstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

var errOutbox = errors.New("the outbox is full")

func recordsRoundTrip(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	s := f.session(p)
	r := f.newRecord(p, strings.Repeat("画", 20_000-1)+"\n", s.ID)
	require.NoError(t, f.insert(r))
	got, _, err := f.Store.Records(t.Context(), f.teacher, feedback.RecordFilter{}, nil, 10)
	require.NoError(t, err)
	require.Equal(t, []feedback.Record{r}, got)
	one, err := f.Store.Record(t.Context(), f.teacher, r.ID)
	require.NoError(t, err)
	require.Equal(t, r, one)
	require.Equal(t, []feedback.Task{{Kind: feedback.TaskLearn, TeacherID: f.teacher, RecordID: r.ID}}, f.Tasks(t))
	require.NoError(t, f.Store.DeleteRecord(t.Context(), f.teacher, r.ID))
	require.ErrorIs(t, f.Store.DeleteRecord(t.Context(), f.teacher, r.ID), feedback.ErrNotFound)
	_, err = f.Store.Record(t.Context(), f.teacher, r.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound)
}

func recordsAreEdited(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	r := f.record(p)
	later := p
	later.AcademicYear, later.Term = 2030, "later"
	_, err := f.Store.ReplaceProfile(t.Context(), later)
	require.NoError(t, err)
	before := f.usage(f.now)

	edit := feedback.RecordEdit{Date: "2026-06-01", Content: "She ＷＯＮ the 5，000 m。", IfVersion: []int64{1}}
	got, err := f.Store.EditRecord(t.Context(), f.teacher, r.ID, edit, f.tick())
	require.NoError(t, err)
	want := r
	want.Date, want.Content, want.Version = edit.Date, edit.Content, 2
	require.Equal(t, want, got, "the year and the term are those of before")
	one, err := f.Store.Record(t.Context(), f.teacher, r.ID)
	require.NoError(t, err)
	require.Equal(t, want, one)
	require.Equal(t, int64(len(edit.Content)-len(r.Content)), f.usage(f.now).TextBytes-before.TextBytes)

	_, err = f.Store.EditRecord(t.Context(), f.teacher, r.ID, edit, f.tick())
	require.ErrorIs(t, err, feedback.ErrStale)
	_, err = f.Store.EditRecord(t.Context(), f.teacher, newID(), edit, f.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.Empty(t, f.Tasks(t), "nothing to learn without a session")

	for name, c := range map[string]struct {
		filter feedback.RecordFilter
		found  bool
	}{
		"its new text, in another case and width": {feedback.RecordFilter{Query: "won THE 5,000"}, true},
		"words apart":        {feedback.RecordFilter{Query: "5,000 won"}, true},
		"a word too many":    {feedback.RecordFilter{Query: "won pencil"}, false},
		"its old text":       {feedback.RecordFilter{Query: r.Content}, false},
		"a mark of patterns": {feedback.RecordFilter{Query: "%"}, false},
		"from its day":       {feedback.RecordFilter{From: "2026-06-01", To: "2026-06-01"}, true},
		"from the day after": {feedback.RecordFilter{From: "2026-06-02"}, false},
		"to the day before":  {feedback.RecordFilter{To: "2026-05-31"}, false},
		"its year and term":  {feedback.RecordFilter{AcademicYear: p.AcademicYear, Term: p.Term}, true},
		"the student's now":  {feedback.RecordFilter{AcademicYear: 2030}, false},
		"the student's term": {feedback.RecordFilter{Term: "later"}, false},
		"several at once":    {feedback.RecordFilter{Query: "won", From: "2026-06-01", Term: p.Term}, true},
	} {
		got, _, err := f.Store.Records(t.Context(), f.teacher, c.filter, nil, 10)
		require.NoError(t, err, name)
		require.Len(t, got, map[bool]int{true: 1}[c.found], name)
	}
}

func recordsPages(t *testing.T, f *fixture) {
	ming, li := f.profile("Ming"), f.profile("Li")
	early, late := f.tick(), f.tick()
	var want []uuid.UUID // newest first
	add := func(p feedback.Profile, date string, created time.Time) {
		r := f.newRecord(p, "well done", uuid.Nil)
		r.Date, r.CreatedAt = date, created
		require.NoError(t, f.insert(r))
		want = append([]uuid.UUID{r.ID}, want...)
	}
	add(ming, "2026-01-02", early)
	add(ming, "2026-01-02", early) // a tie: by identifier
	add(ming, "2026-01-02", late)
	add(li, "2026-01-03", early)
	add(ming, "2026-02-01", early)
	add(ming, "2026-02-01", late)
	walk := func(filter feedback.RecordFilter) (ids []uuid.UUID) {
		var after *feedback.RecordKey
		for {
			page, more, err := f.Store.Records(t.Context(), f.teacher, filter, after, 2)
			require.NoError(t, err)
			for _, r := range page {
				ids = append(ids, r.ID)
			}
			if !more {
				return ids
			}
			last := page[len(page)-1]
			after = &feedback.RecordKey{Date: last.Date, CreatedAt: last.CreatedAt, ID: last.ID}
			f.record(ming) // before the current position
		}
	}
	require.Equal(t, want, walk(feedback.RecordFilter{})[:6])
	require.Equal(t, []uuid.UUID{want[2]},
		walk(feedback.RecordFilter{ProfileID: uuid.NullUUID{UUID: li.ID, Valid: true}}))
	require.Empty(t, walk(feedback.RecordFilter{ProfileID: uuid.NullUUID{UUID: newID(), Valid: true}}))
}

func recordsReferences(t *testing.T, f *fixture) {
	ming, li := f.profile("Ming"), f.profile("Li")
	s := f.session(ming)
	r := f.newRecord(feedback.Profile{ID: newID(), AcademicYear: li.AcademicYear, Term: li.Term}, "x", uuid.Nil)
	require.Equal(t, "profile_id", field(t, f.insert(r)))
	r.ProfileID, r.SessionID = li.ID, uuid.NullUUID{UUID: s.ID, Valid: true}
	require.Equal(t, "feedback_session_id", field(t, f.insert(r)), "another profile's session")
	r.SessionID.UUID = newID()
	require.Equal(t, "feedback_session_id", field(t, f.insert(r)))
	got, err := f.Store.ActiveSession(t.Context(), f.teacher, ming.ID)
	require.NoError(t, err, "a refused record does not complete the session")
	require.Equal(t, s.ID, got.ID)

	r.ProfileID, r.SessionID.UUID = ming.ID, s.ID
	require.NoError(t, f.insert(r))
	_, err = f.Store.ActiveSession(t.Context(), f.teacher, ming.ID)
	require.ErrorIs(t, err, feedback.ErrNoActiveSession)
	require.Equal(t, feedback.SessionCompleted, f.whole(s.ID).State)
	first := r.ID
	r.ID = newID()
	same, created, err := f.Store.InsertRecord(t.Context(), r, nil)
	require.NoError(t, err)
	require.False(t, created, "the session has a record of this date and content")
	require.Equal(t, first, same.ID)
	r.Content = "y"
	other, created, err := f.Store.InsertRecord(t.Context(), r, nil)
	require.NoError(t, err, "a second record of the same session")
	require.True(t, created)
	require.Equal(t, r, other)
	f.session(ming) // there may be a new one now
}

func otherTeacher(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	s := f.session(p)
	l := f.lesson(s)
	g := f.segment(l, 0)
	r := f.record(p)
	f.Tasks(t)
	other, ctx, at := uuid.New(), t.Context(), f.tick()

	profiles, _, err := f.Store.Profiles(ctx, other, feedback.ProfileFilter{}, nil, 10)
	require.NoError(t, err)
	require.Empty(t, profiles)
	records, _, err := f.Store.Records(ctx, other,
		feedback.RecordFilter{ProfileID: uuid.NullUUID{UUID: p.ID, Valid: true}}, nil, 10)
	require.NoError(t, err)
	require.Empty(t, records)

	stolen, added, newRecord, newSession := p, f.newSegment(l, 1, "x"), f.newRecord(p, "x", uuid.Nil), f.newSession(p)
	stolen.TeacherID, added.TeacherID, newRecord.TeacherID, newSession.TeacherID = other, other, other, other
	_, _, changes := f.Store.Changes(ctx, other, s.ID, 0)
	_, _, insert := f.Store.InsertSegment(ctx, added, false)
	for call, err := range map[string]error{
		"read profile":    errorOf(f.Store.Profile(ctx, other, p.ID)),
		"replace profile": errorOf(f.Store.ReplaceProfile(ctx, stolen)),
		"delete profile":  f.Store.DeleteProfile(ctx, other, p.ID),
		"read record":     errorOf(f.Store.Record(ctx, other, r.ID)),
		"edit record":     errorOf(f.Store.EditRecord(ctx, other, r.ID, feedback.RecordEdit{Date: r.Date}, at)),
		"delete record":   f.Store.DeleteRecord(ctx, other, r.ID),
		"read session":    errorOf(f.Store.Session(ctx, other, s.ID)),
		"edit session":    errorOf(f.Store.EditSession(ctx, other, s.ID, feedback.SessionEdit{}, at)),
		"save generated":  f.Store.SaveGenerated(ctx, other, s.ID, "x", at),
		"read changes":    changes,
		"start lesson":    errorOf(f.Store.StartLesson(ctx, other, f.newLesson(s))),
		"find session":    errorOf(f.Store.LessonSession(ctx, other, l.ID)),
		"read lesson":     errorOf(f.Store.Lesson(ctx, other, l.ID)),
		"finish lesson":   errorOf(f.Store.EditLesson(ctx, other, l.ID, feedback.LessonEdit{Finish: true}, at)),
		"add segment":     insert,
		"read segment":    errorOf(f.Store.Segment(ctx, other, g.ID)),
		"retry segment":   errorOf(f.Store.RetrySegment(ctx, other, g.ID, "", at)),
	} {
		require.ErrorIs(t, err, feedback.ErrNotFound, call)
	}
	require.ErrorIs(t, errorOf(f.Store.ActiveSession(ctx, other, p.ID)), feedback.ErrNoActiveSession)
	_, _, err = f.Store.OpenSession(ctx, newSession)
	require.Equal(t, "profile_id", field(t, err))
	require.Equal(t, "profile_id", field(t, f.insert(newRecord)))

	whole := f.whole(s.ID)
	require.Len(t, whole.Lessons, 1)
	require.Len(t, whole.Lessons[0].Segments, 1)
	require.Equal(t, feedback.LessonRecording, whole.Lessons[0].State)
	require.Empty(t, f.Tasks(t))
}

// idempotencyKeys: a repeated request is answered as the first one was.
func idempotencyKeys(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	now := f.tick()
	key := feedback.IdempotencyKey{Key: "k", Fingerprint: "x", UsedAt: now, ExpiredAt: now.Add(-time.Hour)}
	record := func(content string) feedback.Record { return f.newRecord(p, content, uuid.Nil) }
	insert := func(r feedback.Record, k feedback.IdempotencyKey) (feedback.Record, bool) {
		got, created, err := f.Store.InsertRecord(t.Context(), r, &k)
		require.NoError(t, err)
		return got, created
	}
	first := record("x")
	_, created := insert(first, key)
	require.True(t, created)
	repeated, created := insert(record("x"), key)
	require.Equal(t, first, repeated)
	require.True(t, created, "the answer is the first one's")

	other := key
	other.Fingerprint = "y"
	_, _, err := f.Store.InsertRecord(t.Context(), record("y"), &other)
	require.ErrorIs(t, err, feedback.ErrKeyReused)

	require.NoError(t, f.Store.DeleteRecord(t.Context(), f.teacher, first.ID))
	_, created = insert(record("y"), other)
	require.True(t, created, "the key of a deleted record is free")

	later := key
	later.UsedAt, later.ExpiredAt = now.Add(2*time.Hour), now.Add(time.Hour)
	expired, created := insert(record("x"), later)
	require.True(t, created, "the key has expired")
	require.NoError(t, f.Store.DeleteIdempotencyKeys(t.Context(), later.UsedAt))
	repeated, _ = insert(record("x"), later)
	require.Equal(t, expired, repeated, "used at that time, not before")
	require.NoError(t, f.Store.DeleteIdempotencyKeys(t.Context(), later.UsedAt.Add(time.Microsecond)))
	repeated, _ = insert(record("x"), later)
	require.NotEqual(t, expired.ID, repeated.ID)

	mia, mei := p, p
	mia.ID, mei.ID = newID(), newID()
	of := feedback.IdempotencyKey{Key: "p", Fingerprint: "x", UsedAt: now, ExpiredAt: now.Add(-time.Hour)}
	for _, p := range []feedback.Profile{mia, mei} {
		got, err := f.Store.InsertProfile(t.Context(), p, &of)
		require.NoError(t, err)
		require.Equal(t, mia, got, "a profile is inserted once too")
	}
	require.NoError(t, f.Store.DeleteProfile(t.Context(), f.teacher, mia.ID))
	got, err := f.Store.InsertProfile(t.Context(), mei, &of)
	require.NoError(t, err)
	require.Equal(t, mei, got)
	of.Fingerprint = "y"
	_, err = f.Store.InsertProfile(t.Context(), mia, &of)
	require.ErrorIs(t, err, feedback.ErrKeyReused)

	stranger := record("x")
	stranger.TeacherID = newID()
	_, _, err = f.Store.InsertRecord(t.Context(), stranger, &later)
	require.Equal(t, "profile_id", field(t, err), "keys are the teacher's own")
}

// oneKeyConcurrently: of several requests with one key, one inserts a record.
func oneKeyConcurrently(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	s := f.session(p)
	now := f.tick()
	for name, session := range map[string]uuid.UUID{"free": {}, "of a session": s.ID} {
		ids := make([]uuid.UUID, 8)
		key := feedback.IdempotencyKey{Key: name, Fingerprint: "x", UsedAt: now, ExpiredAt: now.Add(-time.Hour)}
		for _, err := range concurrently(len(ids), func(i int) error {
			got, _, err := f.Store.InsertRecord(t.Context(), f.newRecord(p, name, session), &key)
			ids[i] = got.ID
			return err
		}) {
			require.NoError(t, err)
		}
		require.Len(t, slices.Compact(ids), 1, name)
	}
}
