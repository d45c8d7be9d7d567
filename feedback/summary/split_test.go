package summary

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
			require.Equal(t, c.want, sentencesOf(c.in))
		})
	}
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
