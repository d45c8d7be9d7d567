package feedback

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// FuzzCursor checks that any string is refused or results in a key that every engine can compare.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(cursor{List: "profiles", Key: []string{"Ming"}, ID: uuid.Max}.String())
	f.Add(cursor{List: "profiles", Key: []string{"\x00"}}.String())
	f.Add(cursor{List: "records", Key: []string{"2026-05-31", time.Unix(1, 0).Format(time.RFC3339Nano)}}.String())
	f.Add(cursor{List: "records", Key: []string{"x", "y"}}.String())
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s, "profiles", 1)
		switch {
		case err != nil:
			require.ErrorIs(t, err, ErrInvalid)
		case s == "":
			require.Nil(t, c)
		default:
			require.NotContains(t, c.Key[0], "\x00")
		}
		if c, err = parseCursor(s, "records", 2); err == nil {
			_, err = recordKey(c)
		}
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
		}
	})
}

// A sequence number that no segment has may be too large for the column of a database.
func TestCursorsOfSegmentsHaveASequence(t *testing.T) {
	lesson := uuid.New()
	for _, key := range []string{"x", "-1", "10000", "99999999999", "99999999999999999999"} {
		c := cursor{List: "segments", Key: []string{key}, ID: lesson}.String()
		_, err := (&Service{}).Segments(t.Context(), uuid.New(), lesson, Page{Cursor: c})
		require.ErrorIs(t, err, ErrInvalid, key)
	}
}
