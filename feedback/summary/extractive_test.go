package summary

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/script"
)

func summarize(t testing.TB, e Extractive, transcripts ...string) string {
	s, err := e.Summarize(context.Background(), feedback.SummaryInput{Lessons: lessonsOf(transcripts...)})
	require.NoError(t, err)
	require.Equal(t, feedback.SummaryLocal, s.Source)
	require.Empty(t, s.Warning)
	return s.Text
}

func TestShortLessonsLoseNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   []string
		want string
	}{
		{"utterances get end marks", []string{"today we draw an apple\nmind the shadow"},
			"today we draw an apple. mind the shadow."},
		{"Chinese utterances get end marks", []string{"今天画苹果\n注意投影"}, "今天画苹果。注意投影。"},
		{"end marks are kept", []string{"We draw. Why? 好看吗？好看！"}, "We draw. Why? 好看吗？好看！"},
		{"a comma at the end becomes an end mark", []string{"先画圆，"}, "先画圆。"},
		{"a paragraph for each lesson", []string{"first lesson", "second lesson"}, "first lesson.\n\nsecond lesson."},
		{"repeated sentences are left out", []string{"Mind the shadow. We draw.\nmind the shadow!", "We draw."},
			"Mind the shadow. We draw."},
		{"no space between scripts", []string{"今天学\nnew words\n很好"}, "今天学。new words. 很好。"},
		{"a number at the end takes the script's mark", []string{"翻到第25\nopen page 25"}, "翻到第25。open page 25."},
		{"a long sentence without punctuation",
			[]string{strings.Repeat("今天我们画苹果然后画影子", 1) + "因为光从左边来所以右边最黑大家注意看老师手里的这个苹果上面宽下面窄要先用直线切出来"},
			"今天我们画苹果然后画影子因为光从左边来所以右边最黑大家注意看老师手里的这个苹果上面宽下面窄要先用直线切出来。"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, summarize(t, Extractive{}, c.in...))
		})
	}
}

func TestTranscriptsWithoutWordsAreAnError(t *testing.T) {
	t.Parallel()
	for _, in := range [][]string{nil, {""}, {" \n", "[Music]", "……"}} {
		_, err := Extractive{}.Summarize(t.Context(), feedback.SummaryInput{Lessons: lessonsOf(in...)})
		require.ErrorIs(t, err, feedback.ErrNothingTranscribed)
	}
}

func TestCancelledContextEndsTheWork(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Extractive{}.Summarize(ctx, feedback.SummaryInput{Lessons: lessonsOf("some words")})
	require.ErrorIs(t, err, context.Canceled)
}

func TestEveryLessonIsHeard(t *testing.T) {
	t.Parallel()
	long := lessons(t)[0].transcript
	text := summarize(t, Extractive{MaxWords: 120}, long, "Today we practised the recorder.",
		long+" Something else about fractions.")
	paragraphs := strings.Split(text, "\n\n")
	require.Len(t, paragraphs, 3)
	require.Equal(t, "Today we practised the recorder.", paragraphs[1])
}

func TestSameThingInOtherWordsComesOnce(t *testing.T) {
	t.Parallel()
	in := strings.Repeat("The bow must stay parallel to the bridge. ", 1) +
		"The bow really must stay parallel to the bridge! The thumb is bent like holding an egg. " +
		"Sing the note before you play the note. " +
		"The metronome is set to sixty for bar nine. The bow must always stay parallel to the bridge."
	require.Equal(t, 1, strings.Count(summarize(t, Extractive{MaxWords: 35}, in), "parallel"))
}

func TestSmallestLimitGivesOneSentence(t *testing.T) {
	t.Parallel()
	for _, l := range lessons(t) {
		text := summarize(t, Extractive{MaxWords: 1}, l.transcript)
		require.NotEmpty(t, text)
		require.LessOrEqual(t, len(script.Tokenize(text)), maxUnit)
	}
}

// TestRules checks the documented properties on any selection of sentences: the limit, that
// sentences are verbatim, in order and not repeated, and that the result is deterministic.
func TestRules(t *testing.T) {
	t.Parallel()
	var pool []unit
	for _, l := range lessons(t) {
		pool = append(pool, split(l.transcript, 0)...)
	}
	rapid.Check(t, func(t *rapid.T) {
		var transcripts []string
		for range rapid.IntRange(1, 3).Draw(t, "lessons") {
			picks := rapid.SliceOfN(rapid.IntRange(0, len(pool)-1), 1, 60).Draw(t, "picks")
			sep := rapid.SampledFrom([]string{"\n", "。", ". ", " "}).Draw(t, "separator")
			var parts []string
			for _, p := range picks {
				parts = append(parts, pool[p].text)
			}
			transcripts = append(transcripts, strings.Join(parts, sep))
		}
		limit := rapid.IntRange(1, 400).Draw(t, "limit")
		e := Extractive{MaxWords: limit}
		got, err := e.extract(context.Background(), transcripts)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := e.extract(context.Background(), transcripts)
		if again != got {
			t.Fatal("another text the second time")
		}
		if n := countWords(got); n > limit && n > 2*maxUnit {
			t.Fatalf("%d words of %d", n, limit)
		}
		var units []unit
		for i, s := range transcripts {
			units = append(units, split(s, i)...)
		}
		units = withoutRepeats(units)
		words := 0
		for _, u := range units {
			words += u.words
		}
		if words <= limit {
			if want := letters(strings.Join(texts(units), "")); letters(got) != want {
				t.Fatalf("%q has lost some of %q", got, want)
			}
			return
		}
		// The ends that a row of units, each used at most once, in order, can reach.
		ends := map[int]bool{0: true}
		for _, u := range units {
			for _, end := range slices.Collect(maps.Keys(ends)) {
				next := len(got) - len(strings.TrimLeft(got[end:], " \n.。,，"))
				if core := strings.TrimRight(u.text, ",，、：:;；-—– "); strings.HasPrefix(got[next:], core) {
					ends[next+len(core)] = true
				}
			}
		}
		for end := range ends {
			if letters(got[end:]) == "" {
				return
			}
		}
		t.Fatalf("%q is not made of the sentences of %q", got, transcripts)
	})
}
