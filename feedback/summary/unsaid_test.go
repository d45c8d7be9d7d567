package summary

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatIsPrivateIsNotWritten says each sentence of testdata/unsaid.txt between two others. Of
// those that ask not to be written nothing may stay, and of the others everything.
func TestWhatIsPrivateIsNotWritten(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/unsaid.txt")
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
		private, language, _ := strings.Cut(title, " ")
		before, after := around[language][0], around[language][1]
		want := before + after
		if private == "public" {
			want = before + line + after
		}
		all[title]++
		if got := summarize(t, before+line+after); !slices.Equal(wordsOf(got), wordsOf(want)) {
			wrong[title]++
			t.Logf("%s: %q became %q", title, line, got)
		}
	}
	for title, most := range map[string]int{"private en": 7, "private zh": 1, "public en": 5, "public zh": 4} {
		t.Logf("%s: %d of %d are wrong", title, wrong[title], all[title])
		require.Greater(t, all[title], 30, title)
		require.LessOrEqual(t, wrong[title], most, title)
	}
}

// wordsOf returns the words of a text, sorted, since homework and notices come last.
func wordsOf(text string) []string { return slices.Sorted(slices.Values(tokensOf(text))) }
