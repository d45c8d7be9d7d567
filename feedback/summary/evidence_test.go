package summary

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/evidence"
	"lessonkit.example/feedback/internal/script"
)

// TestSourcesOfLocalText: of notes cut into recordings after every few words, each sentence of the
// text is found in those in which its words were said in this order.
func TestSourcesOfLocalText(t *testing.T) {
	t.Parallel()
	found, all := 0, 0
	for _, folder := range []string{"notes", "unseen"} {
		for _, n := range notes(t, folder) {
			s, err := Local{}.Summarize(t.Context(), feedback.SummaryInput{Lessons: lessonsOf(n.lessons()...)})
			require.NoError(t, err)
			var recordings []string
			for _, l := range n.lessons() {
				for part := range slices.Chunk(script.Tokenize(l), 25) {
					recordings = append(recordings, l[part[0].Start:part[len(part)-1].End])
				}
			}
			for _, e := range evidence.Find(s.Text, recordings) {
				require.True(t, e.Supported, "%s: %s", n.name, e.Text)
				var texts []string
				for _, i := range e.Sources {
					texts = append(texts, recordings[i])
				}
				if all++; len(texts) == 0 || isSaid(e.Text, []string{strings.Join(texts, " ")}) {
					found++
				} else {
					t.Logf("%s: %q is not in %q", n.name, e.Text, texts)
				}
			}
		}
	}
	t.Logf("%d of %d sentences", found, all)
	require.Less(t, 200*(all-found), all) // a sentence of two words may be said elsewhere, too
}
