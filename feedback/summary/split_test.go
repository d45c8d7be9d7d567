package summary

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/internal/script"
)

func texts(units []unit) []string {
	var out []string
	for _, u := range units {
		out = append(out, u.text)
	}
	return out
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"English sentences", "We draw. Why? Because! Yes", []string{"We draw.", "Why?", "Because!", "Yes"}},
		{"Chinese sentences without spaces", "今天画苹果。好看吗？好看！", []string{"今天画苹果。", "好看吗？", "好看！"}},
		{"closing quotes belong to their sentence", "她说：“画得好。”大家笑了。", []string{"她说：“画得好。”", "大家笑了。"}},
		{"titles and initials end no sentence", "Mr. Long met J. Short at 3 p.m. today. Fine.",
			[]string{"Mr. Long met J. Short at 3 p.m. today.", "Fine."}},
		{"points in numbers", "It is 3.5 metres. Next.", []string{"It is 3.5 metres.", "Next."}},
		{"a number sign ends no sentence, the word no does", "See No. 5 please. I said no. Then go.",
			[]string{"See No. 5 please.", "I said no.", "Then go."}},
		{"points in addresses", "Look at lessons.example.org now. Done.",
			[]string{"Look at lessons.example.org now.", "Done."}},
		{"an ellipsis before lower case", "Wait... then look... Good.",
			[]string{"Wait... then look...", "Good."}},
		{"an ellipsis in Chinese", "等一下……再看。", []string{"等一下……", "再看。"}},
		{"lower case after a point", "we draw. then we cut. p.m. is later, etc. and so on",
			[]string{"we draw.", "then we cut.", "p.m. is later, etc. and so on"}},
		{"several marks", "Really?! Yes!!!", []string{"Really?!", "Yes!!!"}},
		{"one utterance a line", "sit down\nwe draw an apple\n我们画苹果",
			[]string{"sit down", "we draw an apple", "我们画苹果"}},
		{"every kind of line end", "a b\r\nc d\re f\u2028g h", []string{"a b", "c d", "e f", "g h"}},
		{"wrapped prose is joined", "We draw an\napple today. It is\nred.",
			[]string{"We draw an apple today.", "It is red."}},
		{"a line continues after a comma", "先画一个圆，\n再画叶子", []string{"先画一个圆，再画叶子"}},
		{"spaces are normalized", "  we \t draw\u3000an\u00a0apple  ", []string{"we draw an apple"}},
		{"pauses within a short line are kept", "好 今天画苹果 先画圆", []string{"好 今天画苹果 先画圆"}},
		{"remarks of a recogniser are left out", "[Music]\n【音乐】\nhello [laughs] all\n♪♪\n...",
			[]string{"hello [laughs] all"}},
		{"a bracket that closes nothing", ">> sit down please\n-> we draw an apple\nred] and green",
			[]string{">> sit down please", "-> we draw an apple", "red] and green"}},
		{"invalid bytes are left out", "we\x00 draw\xff", []string{"we draw"}},
		{"nothing", " \n\t", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, texts(split(c.in, 0)))
		})
	}
}

func TestLongSentencesAreCutAtClauses(t *testing.T) {
	t.Parallel()
	first := "so please take your ruler and measure the stem from the cotton wool to the tip " +
		"and write it in the table with the date"
	second := "then we compare the numbers of all the groups because one plant alone tells us nothing " +
		"about the others okay"
	require.Equal(t, []string{first, second}, texts(split(first+" "+second, 0)))
	chinese := "今天我们学画苹果的素描先看老师手里的这个苹果它是什么颜色的呢然后我们定构图苹果不要画得太大也不要画得太小因为四周要留空这样画面才舒服"
	require.Equal(t, []string{
		"今天我们学画苹果的素描先看老师手里的这个苹果它是什么颜色的呢",
		"然后我们定构图苹果不要画得太大也不要画得太小",
		"因为四周要留空这样画面才舒服",
	}, texts(split(chinese, 0)))
	commas := strings.TrimSuffix(strings.Repeat("我们先画一个圆，然后加上叶子，", 6), "，")
	for _, s := range texts(split(commas, 0)) {
		require.True(t, strings.HasSuffix(s, "，") || strings.HasSuffix(s, "子"), s)
	}
	list := split("今天要带铅笔、橡皮、尺子、剪刀、胶水、彩纸、水彩笔，下面老师讲一下怎么用这些东西，先把纸对折，再用剪刀剪开，最后贴起来就好了", 0)
	require.True(t, strings.HasPrefix(list[0].text, "今天要带铅笔、橡皮、尺子、剪刀、胶水、彩纸、水彩笔，"))
}

func TestWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		"": 0, "we don't know": 3, "3.5 metres": 2, "今天画 apple": 4, "well-known": 1, "a,b": 2, "12,000": 1,
		"。！": 0, "がくせい": 4, "한국어 수업": 2, strings.Repeat("a", 25): 2, "e\u0301te\u0301": 1,
	} {
		require.Equal(t, want, countWords(in), in)
	}
}

// FuzzSplit checks that the units of a text contain all of its letters in order, except for remarks
// of the transcriber, and that none is too long.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"We draw. Why?", "今天画苹果。好看吗", "a, b\nc", "p.m. J. 3.5…", "“好。”",
		strings.Repeat("好吧然后 ", 50), "\u0e01\u0e33\u0e01\u0e33", "[x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		units := split(s, 0)
		var all strings.Builder
		for _, u := range units {
			require.LessOrEqual(t, len(script.Tokenize(u.text)), maxUnit)
			all.WriteString(u.text)
		}
		if strings.ContainsAny(s, "[【<]】>") {
			return
		}
		require.Equal(t, bare(strings.Map(tidyRune, strings.ToValidUTF8(s, ""))), bare(all.String()))
	})
}

// bare is letters without combining marks, which alone are not words.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return r
	}, letters(s))
}
