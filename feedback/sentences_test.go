package feedback_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// TestDoubtfulSentencesAreMarkedAndLeftOut of generated texts, which say so.
func TestDoubtfulSentencesAreMarkedAndLeftOut(t *testing.T) {
	t.Parallel()
	heard := &listening{}
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = heard })
	l := e.lesson()
	loop := feedback.Sentence{Text: "谢谢大家。", Start: time.Minute, End: 2 * time.Minute, Doubtful: true}
	only := e.hear(l, feedback.Transcript{Text: loop.Text, Sentences: []feedback.Sentence{loop}})
	require.Equal(t, "谢谢大家。", only.Text, "the teacher sees it")
	_, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
	require.ErrorIs(t, err, feedback.ErrNothingTranscribed)
	require.ErrorContains(t, err, "doubtful")

	sentences := []feedback.Sentence{
		{Text: "We mixed\x00 greens.", End: 1500 * time.Millisecond},
		{Text: "Thanks for watching!", Start: 2 * time.Second, End: 3 * time.Second, Doubtful: true},
		{Text: "Goodbye.", Start: 3 * time.Second, End: 4 * time.Second},
	}
	const text = "We mixed greens. Thanks for watching! Goodbye. And more."
	mixed := e.hear(l, feedback.Transcript{Text: text, Sentences: sentences})
	sentences[0].Text = "We mixed greens."
	require.Equal(t, text, mixed.Text)
	require.Equal(t, sentences, mixed.Sentences())
	require.Equal(t, feedback.WarningDoubtful, mixed.WarningCode())
	g, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
	require.NoError(t, err)
	require.Equal(t, "We mixed greens. Goodbye. And more.", heard.heard.Lessons[0].Text)
	require.Equal(t, []feedback.SummaryWarning{feedback.WarningDoubtfulLeftOut}, g.WarningCodes)
	require.Contains(t, g.Warning, "left out")
}

// TestEditedTextsCount in transcripts and generated texts, whole, and teach words. Their sentences
// have times.
func TestEditedTextsCount(t *testing.T) {
	t.Parallel()
	heard := &listening{}
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = heard })
	l := e.lesson()
	var spoken []feedback.Sentence
	for i, s := range []string{"Today Catherine painted greens.", "It was cold.", "Thank you.", "Well done."} {
		at := time.Duration(i) * time.Second
		spoken = append(spoken, feedback.Sentence{Text: s, Start: at, End: at + time.Second, Doubtful: i == 2})
	}
	seg := e.hear(l, feedback.Transcript{Sentences: spoken,
		Text: "Today Catherine painted greens. It was cold. Thank you. Well done."})
	for text, times := range map[string]string{
		"Today Kathryn painted greens. It was cold. Thank you. Well done.": "[0s 1s] Today Kathryn painted greens." +
			"[1s 2s] It was cold.[2s 3s] Thank you.[3s 4s] Well done.",
		"Today Kathryn painted. She shivered. Well done. Bye!": "[0s 3s] Today Kathryn painted. She shivered." +
			"[3s 4s] Well done.",
		"It was cold. Well done.": "[1s 2s] It was cold.[3s 4s] Well done.",
		"Other words.":            "[0s 4s] Other words.",
		"":                        "",
	} {
		seg, err := e.EditSegment(t.Context(), e.teacher, seg.ID, feedback.SegmentEdit{Text: &text})
		require.NoError(t, err)
		got := ""
		for _, s := range seg.Sentences() {
			require.False(t, s.Doubtful)
			got += fmt.Sprint([]time.Duration{s.Start, s.End}, " ", s.Text)
		}
		require.Equal(t, times, got)
		require.Empty(t, seg.Warning(), "the teacher has read it")
	}
	mended := "Today Kathryn painted greens. It was cold. Thank you. Well done."
	_, err := e.EditSegment(t.Context(), e.teacher, seg.ID, feedback.SegmentEdit{Text: &mended})
	require.NoError(t, err)
	g, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
	require.NoError(t, err)
	require.Equal(t, mended, heard.heard.Lessons[0].Text)
	require.Empty(t, g.WarningCodes)
	e.save(l, mended)
	words, err := e.Words(t.Context(), e.teacher)
	require.NoError(t, err)
	require.Equal(t, []string{"Kathryn"}, words)
}

// TestSentencesThatAreSaidAgainKeepTheirTimes when the teacher deletes or changes others. Each
// recognised sentence lasts a second.
func TestSentencesThatAreSaidAgainKeepTheirTimes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ recognised, edited, times string }{
		{"好。|先弹音阶。|好。|再弹曲子。", "先弹音阶。好。再弹曲子。", "1 先弹音阶。2 好。3 再弹曲子。"},
		{"好。|先弹音阶。|好。|再弹曲子。", "好。先弹音阶。再弹曲子。", "0 好。1 先弹音阶。3 再弹曲子。"},
		{"好。|弹音阶。|好。|弹音阶。|好。", "弹音阶。好。弹音阶。好。", "1 弹音阶。2 好。3 弹音阶。4 好。"},
		{"好的，老师。|嗯。|好的，老师。|再见。", "嗯。好的，老师。再见。", "1 嗯。2 好的，老师。3 再见。"},
		{"嗯好。|先弹音阶。|好。", "好。先弹音阶。好。", "0 好。1 先弹音阶。2 好。"},
		{"好。|先弹音阶。|好。", "今天学新曲子。好。先弹音阶。好。", "0 好。1 先弹音阶。2 好。"},
	} {
		var transcript feedback.Transcript
		for i, s := range strings.Split(test.recognised, "|") {
			at := time.Duration(i) * time.Second
			transcript.Text += s
			transcript.Sentences = append(transcript.Sentences,
				feedback.Sentence{Text: s, Start: at, End: at + time.Second})
		}
		e := newEnv(t)
		seg := e.hear(e.lesson(), transcript)
		seg, err := e.EditSegment(t.Context(), e.teacher, seg.ID, feedback.SegmentEdit{Text: &test.edited})
		require.NoError(t, err)
		got := ""
		for _, s := range seg.Sentences() {
			got += fmt.Sprint(s.Start.Seconds(), " ", s.Text)
			require.Equal(t, s.Start+time.Second, s.End, got)
		}
		require.Equal(t, test.times, got)
	}
}

func TestARecordingThatIsCutOffSaysSo(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	seg := e.hear(e.lesson(), feedback.Transcript{Duration: 31 * time.Second, HeaderDuration: time.Minute})
	require.Equal(t, feedback.WarningCutOff, seg.WarningCode())
	require.Equal(t, "the recording lasts 31s, but was to last 1m0s: its end is missing", seg.Warning())
}

// Every sentence that is kept is in the text, and no transcript makes a row large.
func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	many := make([]feedback.Sentence, 100_000)
	for i := range many {
		many[i] = feedback.Sentence{Text: "a.", End: 1e6 * time.Second, Doubtful: i > 50_000}
	}
	many[1].Text = "not there."
	seg := e.hear(e.lesson(), feedback.Transcript{Text: strings.Repeat("a. ", 100_000), Sentences: many})
	require.Len(t, seg.Sentences(), 1999)
	require.Less(t, len(seg.Details), 64<<10)
	require.Empty(t, feedback.Segment{Text: "a", Details: `{"sentences":[[0,9,0,0,1],[-1,1,0,0,1]]}`}.Sentences())
	require.Empty(t, feedback.Segment{Text: "a", Details: `nonsense`}.Sentences())
}
