package sqlstore_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func (f *fixture) words() []string {
	f.t.Helper()
	words, err := f.Store.Words(f.t.Context(), f.teacher)
	require.NoError(f.t, err)
	return words
}

func wordsSaved(t *testing.T, f *fixture) {
	require.Empty(t, f.words())
	for _, words := range [][]string{{"Siobhan", "小明", "O'Neil, \"Nguyễn\"", "siobhan"}, {"小明", "Ada"}, {}} {
		require.NoError(t, f.Store.SaveWords(t.Context(), f.teacher, words, f.tick()))
		require.Equal(t, words, append([]string{}, f.words()...), "in the order of the list")
	}
	require.NoError(t, f.Store.SaveWords(t.Context(), uuid.New(), []string{"Ada"}, f.tick()))
	require.Empty(t, f.words(), "those of another teacher")
}

// wordsForgotten: beyond the limit, the words go that have not been used for longest.
func wordsForgotten(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	var words []string
	for i := range feedback.MaxWords {
		words = append(words, fmt.Sprintf("Word %03d", i))
	}
	require.NoError(t, f.Store.SaveWords(t.Context(), f.teacher, words, f.tick()))
	last := words[len(words)-1]
	require.NoError(t, f.Store.UseWords(t.Context(), f.teacher, p.ID, []string{last}, f.tick()))
	require.Equal(t, last, f.words()[0])
	require.NoError(t, f.Store.UseWords(t.Context(), f.teacher, p.ID, []string{"Siobhan", "Ada"}, f.tick()))
	got := f.words()
	require.Equal(t, []string{"Siobhan", "Ada", last}, got[:3])
	require.Len(t, got, feedback.MaxWords)
	require.NotContains(t, got, words[feedback.MaxWords-2])
	require.NotContains(t, got, words[feedback.MaxWords-3])
}

// wordsOfADeletedStudent: the parts of the name go with the student.
func wordsOfADeletedStudent(t *testing.T, f *fixture) {
	p := f.profile("Siobhan 100% 王小明")
	words, other := []string{"clay", "Siobhan", "小明", "S%n", "_", "100%", "Ada"}, uuid.New()
	require.NoError(t, f.Store.SaveWords(t.Context(), f.teacher, words, f.tick()))
	require.NoError(t, f.Store.SaveWords(t.Context(), other, words, f.tick()))
	require.NoError(t, f.Store.DeleteProfile(t.Context(), f.teacher, p.ID))
	require.Equal(t, []string{"clay", "S%n", "_", "Ada"}, f.words())
	require.ErrorIs(t, f.Store.UseWords(t.Context(), f.teacher, p.ID, []string{"Siobhan"}, f.tick()),
		feedback.ErrNotFound, "by a task that was running")
	require.Equal(t, []string{"clay", "S%n", "_", "Ada"}, f.words())
	f.teacher = other
	require.Equal(t, words, f.words(), "of another teacher")
}

// wordsSavedConcurrently: no words of two lists, nor more than there may be.
func wordsSavedConcurrently(t *testing.T, f *fixture) {
	list := func(length, i int) (words []string) {
		for j := range length {
			words = append(words, fmt.Sprintf("Word %d of list %d", j, i))
		}
		return words
	}
	for range 10 { // each starts without words
		for _, err := range concurrently(8, func(i int) error {
			return f.Store.SaveWords(t.Context(), f.teacher, list(3, i), f.tick())
		}) {
			require.NoError(t, err)
		}
		got := f.words()
		require.NotEmpty(t, got)
		var winner int
		_, err := fmt.Sscanf(got[0], "Word 0 of list %d", &winner)
		require.NoError(t, err)
		require.Equal(t, list(3, winner), got)
		require.NoError(t, f.Store.SaveWords(t.Context(), f.teacher, nil, f.tick()))
	}
	p := f.profile("Ming")
	for _, err := range concurrently(8, func(i int) error {
		if i%2 == 0 {
			return f.Store.SaveWords(t.Context(), f.teacher, list(feedback.MaxWords, i), f.tick())
		}
		return f.Store.UseWords(t.Context(), f.teacher, p.ID, list(3, i), f.tick())
	}) {
		require.NoError(t, err)
	}
	require.Len(t, f.words(), feedback.MaxWords)
}

func hintsOfSession(t *testing.T, f *fixture) {
	p := f.profile("Siobhan")
	s := f.session(p)
	hints := func() (string, []string) {
		language, words, err := f.Store.Hints(t.Context(), f.teacher, s.ID)
		require.NoError(t, err)
		return language, words
	}
	language, words := hints()
	require.Empty(t, language, "no defaults are saved")
	require.Equal(t, []string{"Siobhan", "Art"}, words)

	require.NoError(t, f.Store.SaveDefaults(t.Context(), f.teacher,
		feedback.Defaults{LessonDurationMinutes: 1, Language: "zh-CN"}, f.tick()))
	require.NoError(t, f.Store.SaveWords(t.Context(), f.teacher, []string{"小明", "Ada"}, f.tick()))
	p.Subject = ""
	_, err := f.Store.ReplaceProfile(t.Context(), p)
	require.NoError(t, err)
	language, words = hints()
	require.Equal(t, "zh-CN", language)
	require.Equal(t, []string{"Siobhan", "小明", "Ada"}, words)

	_, _, err = f.Store.Hints(t.Context(), uuid.New(), s.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound, "of another teacher")
}
