package evidence

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// summary is a note, a source in each line, and what somebody made of it in other words, with one
// sentence that nobody said.
type summary struct {
	name          string
	sources, true []string
	invented      string
}

func summaries(t *testing.T, file string) (all []summary) {
	b, err := os.ReadFile("testdata/" + file + ".txt")
	require.NoError(t, err)
	for _, note := range strings.Split("\n"+string(b), "\n# ")[1:] {
		lines := strings.Split(strings.TrimSpace(note), "\n")
		s := summary{name: lines[0]}
		for _, line := range lines[1:] {
			switch text := line[2:]; line[:2] {
			case "> ":
				s.true = append(s.true, text)
			case "! ":
				s.invented = text
			default:
				s.sources = append(s.sources, line)
			}
		}
		all = append(all, s)
	}
	return all
}

// TestInventedSentencesAreFound in twenty summaries, of which the second half was written before,
// and first looked at after, the threshold was chosen by the first.
func TestInventedSentencesAreFound(t *testing.T) {
	t.Parallel()
	found, marked, all := 0, 0, 0
	notes := append(summaries(t, "tuned"), summaries(t, "unseen")...)
	require.Len(t, notes, 20)
	var together []string
	for _, n := range notes {
		text := strings.Join(append(n.true, n.invented), "\n")
		for _, s := range Find(text, n.sources) {
			switch {
			case s.Text == n.invented && !s.Supported:
				require.Empty(t, s.Sources)
				found++
			case s.Text == n.invented:
				t.Logf("%s: not found: %s", n.name, s.Text)
			default:
				require.Contains(t, n.true, s.Text)
				if all++; !s.Supported {
					t.Logf("%s: marked: %s", n.name, s.Text)
					marked++
				}
			}
		}
		together = append(together, n.sources...)
	}
	t.Logf("%d of 20 invented sentences found, %d of %d true ones marked", found, marked, all)
	require.Greater(t, all, 100)
	require.GreaterOrEqual(t, found, 18)
	require.LessOrEqual(t, 100*marked, 2*all)

	// The twenty as lessons of one text: a sentence still comes from its own note.
	right, ix := 0, newIndex(together, nil)
	for _, n := range notes {
		for _, text := range n.true {
			for _, i := range ix.find(text).Sources {
				if strings.Contains(strings.Join(n.sources, "\n"), together[i]) {
					right++
					break
				}
			}
		}
	}
	t.Logf("%d of %d sentences found in their own note of 20", right, all)
	require.GreaterOrEqual(t, 100*right, 95*all)
}

func TestSourcesOfSentences(t *testing.T) {
	t.Parallel()
	sources := []string{"Today Shiva painted greens with a sponge.", "then she mixed her own blues",
		"她画了雨天的街道", "and mixed the greens with white"}
	for text, want := range map[string]string{
		"She painted greens with a sponge.":         "[0]",
		"She mixed blues and greens with white.":    "[1 3]",
		"Siobhan painted greens. Siobhan is seven.": "[0] []", // a name tells nothing
		"It was so.": "[]", // nor do these words
		"And the.":   "[3]",
		"":           "",
		"她画的雨天街道。":   "", // most of the notes are in another language
	} {
		got := []string{}
		for _, s := range Find(text, sources, "Siobhan Li") {
			got = append(got, fmt.Sprint(s.Sources))
		}
		require.Equal(t, want, strings.Join(got, " "), text)
	}
	homophones := Find("雨桐的音阶很稳。", []string{"今天雨彤的音接比较稳"}, "雨桐")
	require.Equal(t, []Sentence{{"雨桐的音阶很稳。", true, []int{0}}}, homophones)
}

// TestAnyTextIsCompared, in bounded time.
func TestAnyTextIsCompared(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"好", "。", "the", "green ", ". ", "\xff", "ไทย", "е"}))
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")
		sources := rapid.SliceOf(piece).Draw(t, "sources")
		for _, s := range Find(text, sources, text) {
			require.True(t, s.Supported || len(s.Sources) == 0)
			for _, i := range s.Sources {
				require.Less(t, i, len(sources))
			}
			require.NotEmpty(t, s.Text)
		}
	})
	long := strings.Repeat("green blue 雨天 pond. ", 50_000)
	require.Len(t, Find(long, []string{long, long}), maxSentences)
}
