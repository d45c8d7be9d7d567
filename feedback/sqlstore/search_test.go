package sqlstore_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"lessonkit.example/feedback"
)

// recordsSearched compares searches among more records than are read without the index with
// strings.Contains. The first of them, which are the oldest, are found only by the index.
func recordsSearched(t *testing.T, f *fixture) {
	random := rand.New(rand.NewPCG(1, 2))
	p := f.profile("Ming")
	text := func(words int) string {
		parts := make([]string, words)
		for i := range parts {
			parts[i] = []string{"scales", "琴", "小明", "音乐会", "ＢＯＯＫ 5", "b", "%", "_", `\`, "é", "e\u0301", "\n",
				"a\"b'c", "𠮷", "ß", "AND"}[random.IntN(16)]
		}
		return strings.Join(parts, []string{"", " "}[random.IntN(2)])
	}
	var all []feedback.Record // oldest first
	for i := range 1300 {
		r := f.newRecord(p, "well done", uuid.Nil)
		if i < 150 || i > 1280 {
			r.Content = "." + text(1+random.IntN(6))
		}
		require.NoError(t, f.insert(r))
		all = append(all, r)
	}
	other := all[0]
	other.ID, other.TeacherID = newID(), newID()
	require.Error(t, f.insert(other), "of another teacher")
	for i := range all[:50] { // edited or deleted
		if i%2 == 0 {
			all[i].Content = "." + text(3)
			_, err := f.Store.EditRecord(t.Context(), f.teacher, all[i].ID,
				feedback.RecordEdit{Date: all[i].Date, Content: all[i].Content}, f.tick())
			require.NoError(t, err)
		} else {
			require.NoError(t, f.Store.DeleteRecord(t.Context(), f.teacher, all[i].ID))
			all[i].Content = ""
		}
	}
	fold := func(s string) string { return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s))) }
	found := 0
	for range 300 {
		query := text(1 + random.IntN(2))
		if start := random.IntN(len(query)); random.IntN(2) == 0 {
			query = strings.ToValidUTF8(query[start:], "")
		}
		words := strings.Fields(fold(query))
		if len(words) == 0 {
			continue
		}
		var want, got []uuid.UUID
		for i := len(all) - 1; i >= 0; i-- {
			content := fold(all[i].Content)
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(content, word) }) {
				want = append(want, all[i].ID)
			}
		}
		var after *feedback.RecordKey
		for more := true; more; {
			var page []feedback.Record
			var err error
			page, more, err = f.Store.Records(t.Context(), f.teacher, feedback.RecordFilter{Query: query}, after, 40)
			require.NoError(t, err, "%q", query)
			for _, r := range page {
				got = append(got, r.ID)
				after = &feedback.RecordKey{Date: r.Date, CreatedAt: r.CreatedAt, ID: r.ID}
			}
		}
		require.Equal(t, want, got, "%q", query)
		found += len(got)
	}
	require.Greater(t, found, 1000)
	none, _, err := f.Store.Records(t.Context(), newID(), feedback.RecordFilter{Query: "scales"}, nil, 10)
	require.NoError(t, err)
	require.Empty(t, none, "of another teacher")
}

// searchEnds searches for what takes a second to find.
func searchEnds(t *testing.T, f *fixture) {
	p := f.profile("Ming")
	word := strings.Repeat("a", 99) + "b"
	for i := range 200 {
		content := strings.Repeat("a", 20_000)
		if i < 11 { // the oldest
			content = word
		}
		require.NoError(t, f.insert(f.newRecord(p, content, uuid.Nil)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err := f.Store.Records(ctx, f.teacher, feedback.RecordFilter{Query: word}, nil, 10)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	f.Store.SetSearchTimeout(20 * time.Millisecond)
	_, _, err = f.Store.Records(t.Context(), f.teacher, feedback.RecordFilter{Query: word}, nil, 10)
	require.ErrorIs(t, err, feedback.ErrInvalid)
	f.Store.SetSearchTimeout(time.Minute)
	found, _, err := f.Store.Records(t.Context(), f.teacher, feedback.RecordFilter{Query: "aa"}, nil, 10)
	require.NoError(t, err, "the connection is in order")
	require.Len(t, found, 10)
}

// A query is not to blame for what it waits for.
func TestASearchThatWaitsInVainIsNotInvalid(t *testing.T) {
	t.Parallel()
	search := func(f *fixture, ends time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), ends)
		defer cancel()
		_, _, err := f.Store.Records(ctx, f.teacher, feedback.RecordFilter{Query: "x"}, nil, 10)
		return err
	}
	t.Run("for another search on SQLite", func(t *testing.T) {
		t.Parallel()
		f := openSQLite(t)
		release := f.Store.HoldSearches()
		require.ErrorIs(t, search(f, time.Millisecond), context.DeadlineExceeded)
		f.Store.SetSearchTimeout(time.Millisecond)
		require.ErrorIs(t, search(f, time.Minute), feedback.ErrUnavailable)
		release()
		f.Store.SetSearchTimeout(time.Minute)
		require.NoError(t, search(f, time.Minute))
	})
	t.Run("for a connection to PostgreSQL", func(t *testing.T) {
		t.Parallel()
		f := openPostgres(t)
		f.db.SetMaxOpenConns(1)
		held, err := f.db.Conn(t.Context())
		require.NoError(t, err)
		defer held.Close()
		f.Store.SetSearchTimeout(time.Millisecond)
		require.ErrorIs(t, search(f, 50*time.Millisecond), feedback.ErrUnavailable)
	})
}
