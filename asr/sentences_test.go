package asr_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lessonkit.example/asr"
)

// spoken returns a transcript of the texts, a second each. "|" after a text is a pause.
func spoken(language string, texts ...string) asr.Transcript {
	t := asr.Transcript{Language: language}
	at := time.Duration(0)
	for _, text := range texts {
		text, pause := strings.CutSuffix(text, "|")
		t.Segments = append(t.Segments, asr.Segment{Start: at, End: at + time.Second, Text: text})
		if at += time.Second; pause {
			at += 500 * time.Millisecond
		}
	}
	t.Text = asr.JoinSegments(t.Segments)
	return t
}

func TestSegmentsAreClausesAndPausesEndSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language string
		texts    []string
		want     string
	}{
		{"", nil, ""},
		{"zh", []string{"好今天是梓涵的第八节课", "首先我们检查了上周的作业|", "哈农第一条"},
			"好今天是梓涵的第八节课，首先我们检查了上周的作业。哈农第一条。"},
		{"zh", []string{"练到第3.5页|", "很好"}, "练到第3.5页。很好。"},
		{"zh", []string{"好。", "今天是梓涵的第八节课首先我们检查了上周的作业", "哈农第一条弹得很流畅|", "下周继续"},
			"好。今天是梓涵的第八节课首先我们检查了上周的作业，哈农第一条弹得很流畅。下周继续。"},
		{"zh", []string{"好，今天是第八节课。首先", "我们检查了作业，|", "很流畅。"},
			"好，今天是第八节课。首先我们检查了作业，很流畅。"},
		{"en", []string{"we mixed greens", "and blues|", "i think i'll paint a pond"},
			"We mixed greens, and blues. I think I'll paint a pond."},
		{"en", []string{"then, i said", "i’m here."}, "then, i said i’m here."},
		{"en", []string{"mix 2.5 parts of blue"}, "Mix 2.5 parts of blue."},
		{"en", []string{"♪"}, "♪"},
		{"", []string{"the pond i painted"}, "The pond I painted."},
		{"", []string{"i ragazzi e i colori"}, "I ragazzi e i colori."},
		{"az-Latn", []string{"ilk"}, "İlk."},
		{"trv", []string{"ini"}, "Ini."},        // Taroko
		{"tr", []string{"ılık su"}, "ılık su."}, // its capital letter is that of another letter, too
		{"zh", []string{"今天学 photoshop"}, "今天学 photoshop."},
		{"ja", []string{"きょうは", "絵をかきました"}, "きょうは，絵をかきました。"},
		{"hi", []string{"आज हमने चित्र बनाया"}, "आज हमने चित्र बनाया।"},
		{"th", []string{"วันนี้เราวาดรูป"}, "วันนี้เราวาดรูป"},
		{"ru", []string{"сегодня", "мы рисовали"}, "Сегодня, мы рисовали."},
	} {
		require.Equal(t, c.want, spoken(c.language, c.texts...).Punctuated())
	}
	require.Equal(t, "I paint the pond.", asr.Transcript{Text: "i paint the pond"}.Punctuated(), "without segments")
	whole := spoken("en", "we paint")
	whole.Text = "we paint a pond"
	require.Equal(t, "We paint a pond.", whole.Punctuated(), "nothing that the segments lack is lost")
}

// TestSentencesChangeNoWord, and sentences remain what they are.
func TestSentencesChangeNoWord(t *testing.T) {
	t.Parallel()
	words := func(text string) []string {
		text = strings.ReplaceAll(text, "İ", "i") // lower case in Turkish
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(".,。，।։።፣،", r)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"i", "i'm", "the", "ß", "ı", "ŉ", "你好", "ไทย",
			"|", " ", ".", ",", "2.5", "ǆ", "हिन्दी", "♪", "é", "e\u0301", "Σας", "ΐ",
			"\u200b", "A@", "\"", "-", "谢谢大家"}))
		language := rapid.SampledFrom([]string{"", "en", "tr", "zh"}).Draw(t, "language")
		pieces := rapid.SliceOf(piece).Draw(t, "pieces")
		for i, p := range pieces {
			pieces[i] = strings.ToValidUTF8(p, "")
		}
		said := spoken(language, pieces...)
		for i, w := range strings.Fields(said.Text) {
			at := time.Duration(i) * 300 * time.Millisecond
			said.Words = append(said.Words, asr.Word{Text: w, Start: at, End: at + time.Second})
		}
		once := said.Punctuated()
		require.Equal(t, strings.Join(words(said.Text), ""), strings.Join(words(once), ""))
		require.Equal(t, once, asr.Transcript{Text: once, Language: language}.Punctuated())
	})
}

func TestSentencesHaveTheTimesOfTheirSegments(t *testing.T) {
	t.Parallel()
	require.Equal(t, []asr.Sentence{
		{Text: "We mixed greens, and blues.", End: 2 * time.Second},
		{Text: "Well done.", Start: 2500 * time.Millisecond, End: 3500 * time.Millisecond},
	}, spoken("en", "we mixed greens", "and blues|", "well done").Sentences())
	long := asr.Transcript{Text: fmt.Sprint(make([]struct{}, 150_000)), Duration: 10 * time.Hour}
	require.Equal(t, long.Duration, long.Sentences()[0].End)
}

func TestSentencesOfOneSegmentHaveTheTimesOfTheirWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, words string // each word lasts a second; "_" is a second without one
		want              []string
	}{
		{"sentences", "We mixed greens. Did it work? Yes!", "We mixed greens _ Did it work Yes",
			[]string{"0 We mixed greens. 3", "4 Did it work? 7", "7 Yes! 20"}},
		{"Chinese", "今天学了音阶。弹得很稳！下周考试。", "今天 学了 音阶 弹 得 很稳 _ 下周 考试",
			[]string{"0 今天学了音阶。 3", "3 弹得很稳！ 6", "7 下周考试。 20"}},
		{"points that end nothing", "Mr. Li plays 3.5 pages, no. 2. Then he rests, J. S. Bach.",
			"Mr. Li plays 3.5 pages no. 2. Then he rests J. S. Bach.",
			[]string{"0 Mr. Li plays 3.5 pages, no. 2. Then he rests, J. S. Bach. 20"}},
		{"quotes", "She said, “Good.” We went on.", "She said Good We went on",
			[]string{"0 She said, “Good.” 3", "3 We went on. 20"}},
		{"parts of words and others", "We painted. Good work.", "We pain ted \uFFFD nonsense Good work",
			[]string{"0 We painted. 3", "5 Good work. 20"}},
		{"no words", "We painted. Good work.", "", []string{"0 We painted. Good work. 20"}},
		{"words of something else", "We painted. Good work.", "one two three",
			[]string{"0 We painted. Good work. 20"}},
		{"spaces that would be lost", "We painted.  Good work.", "We painted Good work",
			[]string{"0 We painted.  Good work. 20"}},
	} {
		said := asr.Transcript{Text: c.text, Segments: []asr.Segment{{Text: c.text, End: 20 * time.Second}}}
		for i, w := range strings.Fields(c.words) {
			if w != "_" {
				at := time.Duration(i) * time.Second
				said.Words = append(said.Words, asr.Word{Text: w, Start: at, End: at + time.Second})
			}
		}
		var got []string
		for _, s := range said.Sentences() {
			got = append(got, fmt.Sprint(s.Start.Seconds(), " ", s.Text, " ", s.End.Seconds()))
		}
		require.Equal(t, c.want, got, c.name)
		require.Equal(t, c.text, said.Punctuated(), c.name)
	}
}

// Figures of 0.98 and -0.31 were published for a minute of silence, 0.01 and -0.29 for speech.
func TestTwoSignsAreDoubtful(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text                           string
		noSpeech, logProb, compression float64
		doubtful                       bool
	}{
		{"we paint", 0, 0, 0, false},
		{"we paint", 0.01, -0.29, 1.24, false},
		{"we paint", 0.98, -0.31, 0.85, false}, // it may be quiet speech
		{"we paint", 0.2, -1.3, 1.1, false},
		{"we paint", 0.1, -0.3, 2.9, false},
		{"we paint", 0.97, -1.2, 0.7, true},
		{"we paint", 0.7, -0.3, 12.3, true},
		{"we paint", 0.1, -1.1, 2.5, true},
		{"we paint", 0.6, -1, 2.4, false},
		{"thanks for watching", 0, 0, 0, false},
		{"thanks for watching", 0.97, -0.31, 0.85, true},
		{"请不吝点赞 订阅 转发", 0.88, -0.38, 0.85, true},
	} {
		said := spoken("en", "well done", c.text, "goodbye")
		s := &said.Segments[1]
		s.NoSpeechProb, s.AvgLogProb, s.CompressionRatio = c.noSpeech, c.logProb, c.compression
		var doubtful []string
		for _, s := range said.Sentences() {
			if s.Doubtful {
				doubtful = append(doubtful, s.Text)
			}
		}
		require.Equal(t, c.doubtful, len(doubtful) > 0, c)
		if c.doubtful {
			require.Len(t, doubtful, 1)
			require.Contains(t, strings.ToLower(doubtful[0]), c.text)
		}
	}
}

func TestLoopsAreDoubtful(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		texts    []string
		doubtful string
	}{
		{[]string{"今天练第三页", strings.Repeat("谢谢大家", 60)}, strings.Repeat("谢谢大家", 60) + "。"},
		{[]string{"今天练第三页谢谢大家谢谢大家", "谢谢大家", "谢谢大家", "谢谢大家"}, "谢谢大家谢谢大家，谢谢大家，谢谢大家，谢谢大家。"},
		{[]string{"thank you. Thank you.", "thank you", "Thank you, " + strings.Repeat("thank you ", 7), "goodbye"},
			"Thank you. Thank you."},
		{[]string{"we count one two three four one two three four one two three four one two three four"}, ""},
		{[]string{"no no no no very very very very good", "哈哈哈哈哈哈哈哈", "la la la la la la la la"}, ""},
		{[]string{"keep the wrist up please", "keep the wrist up please", "keep the wrist up please"}, ""},
	} {
		var texts []string
		for _, s := range spoken("", c.texts...).Sentences() {
			if s.Doubtful {
				texts = append(texts, s.Text)
			}
			require.LessOrEqual(t, s.Start, s.End)
		}
		require.True(t, strings.HasPrefix(asr.JoinText(texts...), c.doubtful), texts)
		require.Equal(t, c.doubtful == "", texts == nil, texts)
	}
}
