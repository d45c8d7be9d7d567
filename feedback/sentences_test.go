package feedback_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lessonkit.example/feedback"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, text, want string }{
		{"", "", ""},
		{"en", "we mixed greens\ni think i'll paint a pond", "We mixed greens. I think I'll paint a pond."},
		{"en-GB", "then i said i’m here", "Then I said I’m here."},
		{"", "the pond i painted", "The pond I painted."},
		{"", "i ragazzi e i colori", "I ragazzi e i colori."},
		{"it", "ecco i colori", "Ecco i colori."},
		{"tr", "ilk ders", "İlk ders."},
		{"Turkish", "ilk ders", "İlk ders."},
		{"az-Latn", "ilk", "İlk."},
		{"trv", "ini", "Ini."},        // Taroko
		{"tr", "ılık su", "ılık su."}, // its capital letter is that of another letter, too
		{"zh", "今天我们画画\n明天再来", "今天我们画画。明天再来。"},
		{"zh", "今天学 photoshop", "今天学 photoshop."},
		{"ja", "きょうは絵をかきました", "きょうは絵をかきました。"},
		{"hi", "आज हमने चित्र बनाया", "आज हमने चित्र बनाया।"},
		{"th", "วันนี้เราวาดรูป\nสวยมาก", "วันนี้เราวาดรูป สวยมาก"},
		{"ko", "오늘 그림을 그렸어요", "오늘 그림을 그렸어요."},
		{"ru", "сегодня мы рисовали", "Сегодня мы рисовали."},
		{"ka", "დღეს ვხატავდით", "დღეს ვხატავდით."},
		{"en", "mix 2.5 parts of blue", "Mix 2.5 parts of blue."},
		{"en", "♪", "♪"},
		{"en", "Well, today", "Well, today"},
		{"en", "it ends here. i know", "it ends here. i know"},
		{"zh", "今天画画，很好", "今天画画，很好"},
		{"en", " Already.\nA sentence. ", " Already.\nA sentence. "},
	} {
		g := feedback.Segment{Text: c.text, Language: c.language}
		require.Equal(t, c.want, g.Sentences())
	}
}

// TestSentencesChangeNoWord, and sentences remain what they are.
func TestSentencesChangeNoWord(t *testing.T) {
	t.Parallel()
	words := func(text string) []string {
		text = strings.ReplaceAll(text, "İ", "i") // lower case in Turkish
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(".。।։።", r)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"i", "i'm", "the", "ß", "ı", "ŉ", "你好", "ไทย",
			"\n", " ", ".", ",", "2.5", "ǆ", "हिन्दी", "♪", "é", "e\u0301", "Σας", "ΐ", "\u200b", "\"", "-"}))
		g := feedback.Segment{
			Text:     strings.ToValidUTF8(strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), " "), ""),
			Language: rapid.SampledFrom([]string{"", "en", "tr", "zh"}).Draw(t, "language"),
		}
		once := g.Sentences()
		require.Equal(t, words(g.Text), words(once))
		require.Equal(t, once, feedback.Segment{Text: once, Language: g.Language}.Sentences())
	})
}
