package sqlstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func profilesRoundTrip(t *testing.T, f *fixture) {
	p := f.profile("小明 \"O'Neil\" \\ 👩🏽‍🎨")
	got, err := f.Store.Profile(t.Context(), f.teacher, p.ID)
	require.NoError(t, err)
	require.Equal(t, p, got)

	next := feedback.Profile{ID: p.ID, TeacherID: f.teacher, Name: "Ming", UpdatedAt: f.tick()}
	got, err = f.Store.ReplaceProfile(t.Context(), next)
	require.NoError(t, err)
	next.CreatedAt = p.CreatedAt
	require.Equal(t, next, got)
	got, err = f.Store.Profile(t.Context(), f.teacher, p.ID)
	require.NoError(t, err)
	require.Equal(t, next, got)

	for _, date := range []string{"2026-05-30", "2026-06-01", "2026-05-31"} {
		r := f.newRecord(next, "well done", uuid.Nil)
		r.Date = date
		require.NoError(t, f.insert(r))
	}
	next.LastDate = "2026-06-01"
	list, _, err := f.Store.Profiles(t.Context(), f.teacher, feedback.ProfileFilter{}, nil, 10)
	require.NoError(t, err)
	require.Equal(t, []feedback.Profile{next}, list)

	next.ID = newID()
	require.ErrorIs(t, errorOf(f.Store.ReplaceProfile(t.Context(), next)), feedback.ErrNotFound)
	require.ErrorIs(t, errorOf(f.Store.Profile(t.Context(), f.teacher, next.ID)), feedback.ErrNotFound)
	require.ErrorIs(t, f.Store.DeleteProfile(t.Context(), f.teacher, next.ID), feedback.ErrNotFound)
}

func names(profiles []feedback.Profile) []string {
	out := []string{}
	for _, p := range profiles {
		out = append(out, p.Name)
	}
	return out
}

func profilesSearch(t *testing.T, f *fixture) {
	for _, name := range []string{"Ming", "ÉLODIE", "Straße", "Иван", "Ωmega", "100%", "a_b", `back\slash`, "小明"} {
		f.profile(name)
	}
	for query, want := range map[string][]string{
		"MING": {"Ming"}, "élo": {"ÉLODIE"}, "e\u0301lo": {"ÉLODIE"}, "STRASSE": {"Straße"}, "иВАН": {"Иван"},
		"ωMEGA": {"Ωmega"}, "%": {"100%"}, "_": {"a_b"}, `\`: {`back\slash`}, "明": {"小明"}, "nobody": {},
		"0%": {"100%"}, "a%b": {},
	} {
		got, _, err := f.Store.Profiles(t.Context(), f.teacher, feedback.ProfileFilter{Query: query}, nil, 100)
		require.NoError(t, err)
		require.Equal(t, want, names(got), "query %q", query)
	}
	other := f.profile("Ming")
	other.Grade, other.Subject = "4", "Music"
	_, err := f.Store.ReplaceProfile(t.Context(), other)
	require.NoError(t, err)
	got, _, err := f.Store.Profiles(t.Context(), f.teacher,
		feedback.ProfileFilter{Query: "ming", Grade: "4", Subject: "Music"}, nil, 100)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, other.ID, got[0].ID)
	got, _, err = f.Store.Profiles(t.Context(), f.teacher, feedback.ProfileFilter{Grade: "4", Subject: "music"}, nil,
		100)
	require.NoError(t, err)
	require.Empty(t, got, "subjects match exactly")
}

func profilesPages(t *testing.T, f *fixture) {
	for _, name := range []string{"b", "a", "Z", "a", "é", "B", "a"} {
		f.profile(name)
	}
	var walked []feedback.Profile
	var after *feedback.ProfileKey
	for more := true; more; {
		var page []feedback.Profile
		var err error
		page, more, err = f.Store.Profiles(t.Context(), f.teacher, feedback.ProfileFilter{}, after, 2)
		require.NoError(t, err)
		walked = append(walked, page...)
		last := page[len(page)-1]
		after = &feedback.ProfileKey{Name: last.Name, ID: last.ID}
		f.profile("A") // before the current position
	}
	require.Equal(t, []string{"B", "Z", "a", "a", "a", "b", "é"}, names(walked)[:7], "by code point")
	require.Less(t, walked[2].ID.String(), walked[3].ID.String(), "ties by identifier")
	require.Less(t, walked[3].ID.String(), walked[4].ID.String(), "ties by identifier")
	require.Len(t, walked, 7)
}

func profileDeletion(t *testing.T, f *fixture) {
	p, kept := f.profile("Ming"), f.profile("Li")
	s := f.session(p)
	l := f.lesson(s)
	first, second := f.segment(l, 0), f.segment(l, 1)
	r := f.record(p)
	keptLesson := f.lesson(f.session(kept))
	keptSegment := f.segment(keptLesson, 0)
	keptRecord := f.record(kept)
	require.Len(t, f.Tasks(t), 3)

	require.NoError(t, f.Store.DeleteProfile(t.Context(), f.teacher, p.ID))
	require.ElementsMatch(t, []feedback.Task{
		{Kind: feedback.TaskDeleteAudio, AudioKey: first.AudioKey},
		{Kind: feedback.TaskDeleteAudio, AudioKey: second.AudioKey},
	}, f.Tasks(t))
	for what, err := range map[string]error{
		"session": errorOf(f.Store.Session(t.Context(), f.teacher, s.ID)),
		"lesson":  errorOf(f.Store.Lesson(t.Context(), f.teacher, l.ID)),
		"segment": errorOf(f.Store.Segment(t.Context(), f.teacher, first.ID)),
		"record":  f.Store.DeleteRecord(t.Context(), f.teacher, r.ID),
		"attempt": errorOf(f.Store.StartTranscription(t.Context(), first.ID, anyRound, "token", 1, f.tick())),
	} {
		require.ErrorIs(t, err, feedback.ErrNotFound, what)
	}
	f.get(keptSegment)

	f.FailOutbox(errOutbox)
	require.ErrorIs(t, f.Store.DeleteProfile(t.Context(), f.teacher, kept.ID), errOutbox)
	f.get(keptSegment)
	_, err := f.Store.Record(t.Context(), f.teacher, keptRecord.ID)
	require.NoError(t, err, "nothing is deleted without a task")
}

// profileDeletionRaces deletes a profile during uploads: each accepted recording must have a task
// that deletes it.
func profileDeletionRaces(t *testing.T, f *fixture) {
	for round := range 5 {
		p := f.profile("Ming")
		s := f.session(p)
		l := f.lesson(s)
		var mu sync.Mutex
		accepted := map[string]bool{}
		for i, err := range concurrently(10, func(i int) error {
			switch i {
			case 0:
				return f.Store.DeleteProfile(t.Context(), f.teacher, p.ID)
			case 1:
				return f.insert(f.newRecord(p, "x", s.ID))
			case 2:
				_, _, err := f.Store.OpenSession(t.Context(), f.newSession(p))
				return err
			}
			n := f.newSegment(l, i, fmt.Sprint(i))
			_, _, err := f.Store.InsertSegment(t.Context(), n, false)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				accepted[n.AudioKey] = true
			}
			return err
		}) {
			isRule := errors.Is(err, feedback.ErrInvalid) || errors.Is(err, feedback.ErrSessionCompleted)
			if i > 0 && err != nil && !isRule {
				require.ErrorIs(t, err, feedback.ErrNotFound, "call %d", i)
			}
			if i == 0 {
				require.NoError(t, err, "round %d", round)
			}
		}
		for _, task := range f.Tasks(t) {
			if task.Kind == feedback.TaskDeleteAudio {
				delete(accepted, task.AudioKey)
			}
		}
		require.Empty(t, accepted, "accepted and never deleted")
	}
}

func defaultsOfTeachers(t *testing.T, f *fixture) {
	_, err := f.Store.Defaults(t.Context(), f.teacher)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	for _, d := range []feedback.Defaults{{Grade: "3", Subject: "Art", LessonDurationMinutes: 90},
		{LessonDurationMinutes: 1, Language: "zh-CN", MessageTemplate: "{text}", SummaryInstructions: "brief"}} {
		require.NoError(t, f.Store.SaveDefaults(t.Context(), f.teacher, d, f.tick()))
		got, err := f.Store.Defaults(t.Context(), f.teacher)
		require.NoError(t, err)
		require.Equal(t, d, got)
	}
	_, err = f.Store.Defaults(t.Context(), uuid.New())
	require.ErrorIs(t, err, feedback.ErrNotFound)
}
