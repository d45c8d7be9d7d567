package feedbacktest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func profilesRoundTrip(t *testing.T, b *book) {
	p := b.profile("小明 \"O'Neil\" \\ 👩🏽‍🎨")
	got, err := b.Store.Profile(t.Context(), b.teacher, p.ID)
	require.NoError(t, err)
	require.Equal(t, p, got)

	next := feedback.Profile{ID: p.ID, TeacherID: b.teacher, Name: "Ming", UpdatedAt: b.tick()}
	got, err = b.Store.ReplaceProfile(t.Context(), next)
	require.NoError(t, err)
	next.CreatedAt = p.CreatedAt
	require.Equal(t, next, got)
	got, err = b.Store.Profile(t.Context(), b.teacher, p.ID)
	require.NoError(t, err)
	require.Equal(t, next, got)

	next.ID = newID()
	_, err = b.Store.ReplaceProfile(t.Context(), next)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	_, err = b.Store.Profile(t.Context(), b.teacher, next.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.ErrorIs(t, b.Store.DeleteProfile(t.Context(), b.teacher, next.ID), feedback.ErrNotFound)
}

func names(profiles []feedback.Profile) []string {
	out := []string{}
	for _, p := range profiles {
		out = append(out, p.Name)
	}
	return out
}

func profilesSearch(t *testing.T, b *book) {
	for _, name := range []string{"Ming", "ÉLODIE", "Straße", "Иван", "Ωmega", "100%", "a_b", `back\slash`, "小明"} {
		b.profile(name)
	}
	for query, want := range map[string][]string{
		"MING": {"Ming"}, "élo": {"ÉLODIE"}, "e\u0301lo": {"ÉLODIE"}, "STRASSE": {"Straße"}, "иВАН": {"Иван"}, "ωMEGA": {"Ωmega"},
		"%": {"100%"}, "_": {"a_b"}, `\`: {`back\slash`}, "明": {"小明"}, "nobody": {}, "0%": {"100%"}, "a%b": {},
	} {
		got, err := b.Store.Profiles(t.Context(), b.teacher, feedback.ProfileFilter{Query: query}, nil, 100)
		require.NoError(t, err)
		require.Equal(t, want, names(got), "query %q", query)
	}
	other := b.profile("Ming")
	other.Grade, other.Subject = "4", "Music"
	_, err := b.Store.ReplaceProfile(t.Context(), other)
	require.NoError(t, err)
	got, err := b.Store.Profiles(t.Context(), b.teacher, feedback.ProfileFilter{Query: "ming", Grade: "4", Subject: "Music"}, nil, 100)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, other.ID, got[0].ID)
	got, err = b.Store.Profiles(t.Context(), b.teacher, feedback.ProfileFilter{Grade: "4", Subject: "music"}, nil, 100)
	require.NoError(t, err)
	require.Empty(t, got, "subjects match exactly")
}

func profilesPages(t *testing.T, b *book) {
	for _, name := range []string{"b", "a", "Z", "a", "é", "B", "a"} {
		b.profile(name)
	}
	var walked []feedback.Profile
	var after *feedback.ProfileKey
	for {
		page, err := b.Store.Profiles(t.Context(), b.teacher, feedback.ProfileFilter{}, after, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		walked = append(walked, page...)
		last := page[len(page)-1]
		after = &feedback.ProfileKey{Name: last.Name, ID: last.ID}
		b.profile("A") // before the place that was reached: shifts nothing
	}
	require.Equal(t, []string{"B", "Z", "a", "a", "a", "b", "é"}, names(walked)[:7], "by code point")
	require.Less(t, walked[2].ID.String(), walked[3].ID.String(), "ties by identifier")
	require.Less(t, walked[3].ID.String(), walked[4].ID.String(), "ties by identifier")
	require.Len(t, walked, 7)
}

func profileDeletion(t *testing.T, b *book) {
	p, kept := b.profile("Ming"), b.profile("Li")
	s := b.session(p)
	l := b.lesson(s)
	first, second := b.segment(l, 0), b.segment(l, 1)
	r := b.record(p, "2026-05-31", b.tick())
	keptLesson := b.lesson(b.session(kept))
	keptSegment := b.segment(keptLesson, 0)
	require.Len(t, b.Tasks(t), 3)

	require.NoError(t, b.Store.DeleteProfile(t.Context(), b.teacher, p.ID))
	require.ElementsMatch(t, []feedback.Task{
		{Kind: feedback.TaskDeleteAudio, AudioKey: first.AudioKey},
		{Kind: feedback.TaskDeleteAudio, AudioKey: second.AudioKey},
	}, b.Tasks(t))
	_, err := b.Store.Session(t.Context(), b.teacher, s.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	_, err = b.Store.Lesson(t.Context(), b.teacher, l.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	_, err = b.Store.Segment(t.Context(), b.teacher, first.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.ErrorIs(t, b.Store.DeleteRecord(t.Context(), b.teacher, r.ID), feedback.ErrNotFound)
	_, err = b.Store.StartTranscription(t.Context(), first.ID, "token", 1, b.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
	_, err = b.Store.Segment(t.Context(), b.teacher, keptSegment.ID)
	require.NoError(t, err)

	b.FailOutbox(errOutbox)
	require.ErrorIs(t, b.Store.DeleteProfile(t.Context(), b.teacher, kept.ID), errOutbox)
	_, err = b.Store.Segment(t.Context(), b.teacher, keptSegment.ID)
	require.NoError(t, err, "what cannot be handed on is not deleted")
}

// profileDeletionRaces deletes a profile while a phone uploads: every
// recording that was accepted must be handed on for deletion.
func profileDeletionRaces(t *testing.T, b *book) {
	for round := range 5 {
		p := b.profile("Ming")
		s := b.session(p)
		l := b.lesson(s)
		var mu sync.Mutex
		accepted := map[string]bool{}
		for i, err := range all(10, func(i int) error {
			switch i {
			case 0:
				return b.Store.DeleteProfile(t.Context(), b.teacher, p.ID)
			case 1:
				return b.Store.InsertRecord(t.Context(), feedback.Record{ID: newID(), TeacherID: b.teacher, ProfileID: p.ID,
					Date: "2026-05-31", Content: "x", SessionID: uuid.NullUUID{UUID: s.ID, Valid: true}, CreatedAt: b.tick()})
			case 2:
				_, _, err := b.Store.OpenSession(t.Context(), b.newSession(p))
				return err
			}
			n := b.newSegment(l, i, fmt.Sprint(i))
			_, _, err := b.Store.InsertSegment(t.Context(), n, false)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				accepted[n.AudioKey] = true
			}
			return err
		}) {
			if err != nil && i > 0 && !errors.Is(err, feedback.ErrInvalid) {
				require.ErrorIs(t, err, feedback.ErrNotFound, "call %d", i)
			}
			if i == 0 {
				require.NoError(t, err, "round %d", round)
			}
		}
		for _, task := range b.Tasks(t) {
			if task.Kind == feedback.TaskDeleteAudio {
				delete(accepted, task.AudioKey)
			}
		}
		require.Empty(t, accepted, "accepted, and never deleted")
	}
}

func defaultsOfTeachers(t *testing.T, b *book) {
	_, err := b.Store.Defaults(t.Context(), b.teacher)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	for _, d := range []feedback.Defaults{{Grade: "3", Subject: "Art", LessonDurationMinutes: 90}, {LessonDurationMinutes: 1}} {
		require.NoError(t, b.Store.SaveDefaults(t.Context(), b.teacher, d, b.tick()))
		got, err := b.Store.Defaults(t.Context(), b.teacher)
		require.NoError(t, err)
		require.Equal(t, d, got)
	}
	_, err = b.Store.Defaults(t.Context(), uuid.New())
	require.ErrorIs(t, err, feedback.ErrNotFound)
}
