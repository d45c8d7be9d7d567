package summary

import (
	"embed"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/internal/script"
)

//go:embed testdata/lessons/*.txt
var lessonFiles embed.FS

// lesson is a transcript with the important points that a reader found in it. The transcripts were
// written for this test, most of them before the ranking, en-water-cycle and zh-calligraphy after
// its constants were chosen.
type lesson struct {
	name, transcript string
	points           string
}

func lessons(t testing.TB) []lesson {
	files, err := fs.Glob(lessonFiles, "testdata/lessons/*.txt")
	require.NoError(t, err)
	var out []lesson
	for _, f := range files {
		b, err := lessonFiles.ReadFile(f)
		require.NoError(t, err)
		transcript, points, ok := strings.Cut(string(b), "\n---\n")
		require.True(t, ok, f)
		out = append(out, lesson{strings.TrimSuffix(path.Base(f), ".txt"), transcript, points})
	}
	return out
}

// recall returns the ROUGE-N recall: the share of the reference's n-grams that the text contains.
// It ignores the plural s of English words.
func recall(text, reference string, n int) float64 {
	have, want := ngrams(text, n), ngrams(reference, n)
	hit, all := 0, 0
	for g, k := range want {
		hit += min(k, have[g])
		all += k
	}
	return float64(hit) / float64(all)
}

func ngrams(s string, n int) map[string]int {
	s = strings.ToLower(s)
	var words []string
	for _, tok := range script.Tokenize(s) {
		w := s[tok.Start:tok.End]
		if !tok.Char && len(w) > 3 {
			w = strings.TrimSuffix(w, "s")
		}
		words = append(words, w)
	}
	m := map[string]int{}
	for i := 0; i+n <= len(words); i++ {
		m[strings.Join(words[i:i+n], " ")]++
	}
	return m
}

// leading is the baseline of the first words.
func leading(transcript string, limit int) string {
	tokens := script.Tokenize(transcript)
	return transcript[:tokens[min(limit, len(tokens))-1].End]
}

// random is the baseline of randomly selected sentences.
func random(units []unit, limit int, r *rand.Rand) string {
	var b strings.Builder
	for _, i := range r.Perm(len(units)) {
		if units[i].words <= limit {
			limit -= units[i].words
			b.WriteString(units[i].text + "\n")
		}
	}
	return b.String()
}

// tuned are the lessons that were used to choose the constants of the ranking; the others were only
// measured.
var tuned = map[string]bool{"en-colour-mixing": true, "en-plants": true, "zh-apple-drawing": true,
	"zh-multiplication": true}

// TestBetterThanLeadingAndRandomSentences compares summaries of 20 and 30 percent of each lesson
// with baselines of the same length: its first words, and random sentences (mean of 200 draws).
func TestBetterThanLeadingAndRandomSentences(t *testing.T) {
	t.Parallel()
	type result struct{ ours, lead, chance [3]float64 } // by n of ROUGE-n
	sums := map[string]*result{"tuned": {}, "measured only": {}, "en": {}, "zh": {}}
	pairs, better := 0, 0 // in ROUGE-2, than either
	for _, l := range lessons(t) {
		units := withoutRepeats(split(l.transcript, 0))
		for _, share := range []float64{0.2, 0.3} {
			limit := int(share * float64(countWords(l.transcript)))
			text := summarize(t, Extractive{MaxWords: limit}, l.transcript)
			require.LessOrEqual(t, countWords(text), limit)
			var r result
			for n := 1; n <= 2; n++ {
				r.ours[n] = recall(text, l.points, n)
				r.lead[n] = recall(leading(l.transcript, limit), l.points, n)
				const draws = 200
				for seed := range uint64(draws) {
					r.chance[n] += recall(random(units, limit, rand.New(rand.NewPCG(seed, 1))), l.points, n) / draws
				}
			}
			t.Logf("%-18s %.0f%% %.3f", l.name, 100*share, r)
			require.Greater(t, r.ours[1], r.lead[1], l.name)
			require.Greater(t, r.ours[1], r.chance[1], l.name)
			pairs++
			if r.ours[2] > r.lead[2] && r.ours[2] > r.chance[2] {
				better++
			}
			group := "measured only"
			if tuned[l.name] {
				group = "tuned"
			}
			for _, g := range []string{l.name[:2], group} {
				for n := 1; n <= 2; n++ {
					sums[g].ours[n] += r.ours[n]
					sums[g].lead[n] += r.lead[n]
					sums[g].chance[n] += r.chance[n]
				}
			}
		}
	}
	require.Greater(t, better*10, pairs*9, "in ROUGE-2 better than both in %d of %d", better, pairs)
	for g, s := range sums {
		require.Greater(t, s.ours[1], 1.15*s.chance[1], g)
		require.Greater(t, s.ours[1], 1.25*s.lead[1], g)
		require.Greater(t, s.ours[2], 1.35*s.chance[2], g)
		require.Greater(t, s.ours[2], 1.8*s.lead[2], g)
	}
}
