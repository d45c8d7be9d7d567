package summary

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatIsPrivateIsNotWritten: of sentences that ask not to be written only what is to be written
// in place may stay, of others that seem to everything, and of those that ask to write something
// that.
func TestWhatIsPrivateIsNotWritten(t *testing.T) {
	t.Parallel()
	requireSentences(t, "unsaid", map[string]int{"private en": 6, "private zh": 0, "public en": 4, "public zh": 4,
		"dictated en": 0, "dictated zh": 0})
}

// TestAsidesGoAndStatementsStay: of what is said to others nothing may stay, of false starts only
// what follows them, and of statements in a row and what seems to be said to others everything.
func TestAsidesGoAndStatementsStay(t *testing.T) {
	t.Parallel()
	requireSentences(t, "asides", map[string]int{"aside en": 8, "aside zh": 17, "kept en": 2, "kept zh": 2,
		"start en": 12, "start zh": 12})
}

// TestCorrectionsAreApplied: of what is corrected only what follows may stay, and of what seems to
// be corrected everything.
func TestCorrectionsAreApplied(t *testing.T) {
	t.Parallel()
	requireSentences(t, "corrections", map[string]int{"corrected en": 18, "corrected zh": 19,
		"kept en": 3, "kept zh": 0})
}

// requireSentences says each sentence of a file of testdata between two others, and fails if those
// of a title that go wrongly are more than most. What follows "=>" is wanted.
func requireSentences(t *testing.T, file string, most map[string]int) {
	b, err := os.ReadFile("testdata/" + file + ".txt")
	require.NoError(t, err)
	around := map[string][2]string{
		"en": {"We played the slow movement. ", " Her left hand is much better now."},
		"zh": {"今天我们练了新曲子。", "左手比上次好多了。"},
	}
	title, all, wrong := "", map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if next, ok := strings.CutPrefix(line, "--- "); ok {
			title = next
			continue
		}
		kind, language, _ := strings.Cut(title, " ")
		before, after := around[language][0], around[language][1]
		said, want, _ := strings.Cut(line, " => ")
		if kind == "public" || kind == "kept" {
			want = said
		}
		all[title]++
		if got := summarize(t, before+said+after); !slices.Equal(wordsOf(got), wordsOf(before+want+after)) {
			wrong[title]++
			t.Logf("%s: %q became %q", title, said, got)
		}
	}
	for title, n := range most {
		t.Logf("%s: %d of %d are wrong", title, wrong[title], all[title])
		require.Greater(t, all[title], n, title)
		require.LessOrEqual(t, wrong[title], n, title)
	}
}

// wordsOf returns the words of a text, sorted, since homework and notices come last.
func wordsOf(text string) []string { return slices.Sorted(slices.Values(tokensOf(text))) }
