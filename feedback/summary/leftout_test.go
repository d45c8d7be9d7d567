package summary

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/longtest"
)

func TestAnswerThatLacksWhatWasSaid(t *testing.T) {
	t.Parallel()
	const (
		english = "So Noah played his song with three chords. For homework practise the change every day, um, and " +
			"write down the words. He needs new strings, they cost 9 pounds. " +
			"The concert is on Saturday, no, Sunday at three."
		all = "Noah played his song with three chords.\n\n" +
			"Please practise the change daily and write down the words.\n\n" +
			"He needs new strings (£9). The concert is on Sunday at 3 pm."
		chinese = "今天小步舞曲右手很漂亮，嗯，回家每天练二十分钟，再听一遍录音。" +
			"下节课改到星期六，不对，星期日。请穿白衬衫，提前到场。"
		whole = "今天小步舞曲的右手很漂亮。\n\n回家请每天练20分钟，再听一遍录音。\n\n下节课改到周日，请穿白衬衫，提前到。"
	)
	for name, test := range map[string]struct {
		notes, text string
		want        []string
	}{
		"nothing, in English": {english, all, nil},
		"a notice": {english, strings.Replace(all, " The concert is on Sunday at 3 pm.", "", 1),
			[]string{"Sunday: The concert is on Sunday at three."}},
		"a price": {english, strings.Replace(all, " (£9)", "", 1),
			[]string{"9: … needs new strings, they cost 9 pounds."}},
		"nothing, but the name": {"So June played well today. For homework read page 4.",
			"She played well today.\n\nHomework: page 4.", nil},
		"the same figure twice": {"So we played. For homework read page nine. Please bring nine pounds.", "We played.",
			[]string{"nine: For homework read page nine.", "nine: Please bring nine pounds."}},
		"homework": {english, strings.Replace(all, " and write down the words", "", 1),
			[]string{"And write down the words."}},
		"nothing, in Chinese": {chinese, whole, nil},
		"minutes": {chinese, strings.Replace(whole, "每天练20分钟", "每天练习", 1),
			[]string{"二十：回家每天练二十分钟，再听一遍录音。"}},
		"what to wear": {chinese, strings.Replace(whole, "，请穿白衬衫，提前到", "", 1),
			[]string{"请穿白衬衫", "提前到场。"}},
		"what is said of once": {"回家一定要听录音。", "今天很棒。", []string{"回家一定要听录音。"}},
		"in another language":  {english, "今天诺亚用三个和弦弹了他的歌。周日三点有音乐会，琴弦9镑。", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := feedback.SummaryInput{Lessons: lessonsOf(test.notes), Student: "June"}
			left, err := leftOut(t.Context(), in, test.text)
			require.NoError(t, err)
			require.Equal(t, test.want, left)
		})
	}
}

// The texts that readers wrote for the notes lack nothing: what is named nevertheless are
// corrections that were not understood. Without homework and notices it is noticed always.
func TestWhatReadersWroteLacksLittle(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	all, named := 0, 0
	for _, n := range notes(t, "notes") {
		paragraphs := strings.Split(strings.TrimSpace(n.ideal), "\n\n")
		if len(paragraphs) < 3 || len(n.homework) == 0 || len(n.notices) == 0 {
			continue
		}
		in := feedback.SummaryInput{Lessons: lessonsOf(n.lessons()...)}
		left, err := leftOut(t.Context(), in, n.ideal)
		require.NoError(t, err)
		all, named = all+1, named+len(left)
		for _, without := range []int{1, 2} { // from the end
			i := len(paragraphs) - without
			rest := strings.Join(append(paragraphs[:i:i], paragraphs[i+1:]...), "\n\n")
			less, err := leftOut(t.Context(), in, rest)
			require.NoError(t, err)
			isNew := func(line string) bool { return !slices.Contains(left, line) }
			require.True(t, slices.ContainsFunc(less, isNew), "%s without %q", n.name, paragraphs[i])
		}
	}
	t.Logf("%d notes, %d named", all, named)
	require.Greater(t, all, 50)
	require.LessOrEqual(t, named, 15)
}
