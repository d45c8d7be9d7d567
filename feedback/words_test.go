package feedback_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func TestWordsAreValidated(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	got, err := e.SaveWords(t.Context(), e.teacher, []string{" Siobhan ", "小明", "Siobhan"})
	require.NoError(t, err)
	require.Equal(t, []string{"Siobhan", "小明"}, got)
	for want, bad := range map[string][]string{
		"words[0] must not be empty":                   {" "},
		"words[1] contains":                            {"a", "a\nb"},
		"words[0] has 101":                             {strings.Repeat("x", 101)},
		"words[0] is not valid":                        {"\xff"},
		"words has 201 words; at most 200 are allowed": slices.Repeat([]string{"a"}, feedback.MaxWords+1),
	} {
		_, err := e.SaveWords(t.Context(), e.teacher, bad)
		require.ErrorIs(t, err, feedback.ErrInvalid, want)
		require.ErrorContains(t, err, "; "+want)
	}
	got, err = e.Words(t.Context(), e.teacher)
	require.NoError(t, err)
	require.Equal(t, []string{"Siobhan", "小明"}, got, "an invalid list changes nothing")
	for _, tag := range []string{"e", "english", "en_GB", "en-", "en\n", "zh-Hans-CN-x-y"} {
		require.ErrorIs(t, e.SaveDefaults(t.Context(), e.teacher,
			feedback.Defaults{LessonDurationMinutes: 1, Language: tag}), feedback.ErrInvalid, tag)
	}
}

// TestRecordingsComeWithHints: the transcriber gets the language and the words, and the log does
// not.
func TestRecordingsComeWithHints(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := newEnv(t, func(c *feedback.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Defaults = feedback.Defaults{Subject: "Watercolour", LessonDurationMinutes: 60, Language: "en-GB"}
	})
	_, err := e.SaveWords(t.Context(), e.teacher, []string{"Siobhan"})
	require.NoError(t, err)
	lesson := e.lesson()
	var got feedback.Audio
	failure := error(fault{public: "failed"})
	e.speech.answer = func(_ context.Context, a feedback.Audio) (feedback.Transcript, error) {
		got = a
		return feedback.Transcript{Text: "hello"}, failure
	}
	_, task := e.add(lesson, "first")
	require.Error(t, e.run(task))
	failure = nil
	require.NoError(t, e.run(task))
	require.Equal(t, "en-GB", got.Language, "of the configuration")
	require.Equal(t, []string{"Ming", "Watercolour", "Siobhan"}, got.Words)

	require.NoError(t, e.SaveDefaults(t.Context(), e.teacher,
		feedback.Defaults{LessonDurationMinutes: 1, Language: "zh"}))
	_, task = e.add(lesson, "second")
	require.NoError(t, e.run(task))
	require.Equal(t, "zh", got.Language, "of the teacher")
	require.NotEmpty(t, log.String())
	for _, private := range []string{"Ming", "Watercolour", "Siobhan"} {
		require.NotContains(t, log.String(), private)
	}
}

func TestCorrectedNamesAreLearnt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recognised, record string
		want               []string
	}{
		"a name": {"today sersha painted a pond", "Today Saoirse painted a pond.",
			[]string{"Saoirse"}},
		"a name in two words for one": {"today mick lean painted a pond", "Today MacLean painted a pond.",
			[]string{"MacLean"}},
		"a full name": {"with us sersha ronen was happy today", "With us, Saoirse Ronan was happy today.",
			[]string{"Saoirse Ronan"}},
		"at the end":            {"we painted with sersha", "We painted with Saoirse.", []string{"Saoirse"}},
		"one Chinese character": {"今天雨彤在弹琴，很稳", "今天雨桐在弹琴，很稳。", []string{"雨桐"}},
		"one at the start":      {"紫涵练得很好", "梓涵练得很好。", []string{"梓涵"}},
		"where another one is":  {"今天小明弹琴，今天雨彤弹琴", "今天小明弹琴，今天雨桐弹琴", []string{"雨桐"}},
		"with a family name":    {"请王雨彤同学带谱", "请王雨桐同学带谱。", []string{"王雨桐"}},
		"a Chinese name":        {"今天小茗画了一个池塘", "今天晓明画了一个池塘。", []string{"晓明"}},
		"a Chinese full name":   {"今天王小名和大家一起画画", "今天汪晓明和大家一起画画。", []string{"汪晓明"}},
		"at the start of a sentence, if it is a name elsewhere": {
			"sersha painted a pond then we thanked sersha for it",
			"Saoirse painted a pond. Then we thanked Saoirse for it.",
			[]string{"Saoirse"}},
		"not what sounds otherwise":          {"today shevon painted a pond", "Today Chloe painted a pond.", nil},
		"not what Chinese sounds otherwise":  {"今天雨晴在弹琴", "今天雨桐在弹琴", nil},
		"not style":                          {"弹得很好，整棒。她考及常考，拿到了教师", "弹得很好，真棒。她考级常考，拿到了教室", nil},
		"not grammar":                        {"今天在弹琴，她唱的很好", "今天再弹琴，她唱得很好", nil},
		"not where no name stands":           {"我们画了池堂边的树", "我们画了池塘边的树", nil},
		"not the start of a sentence alone":  {"he painted a pond today", "She painted a pond today.", nil},
		"not another case":                   {"today saoirse painted a pond", "Today Saoirse painted a pond.", nil},
		"not what was recognised elsewhere":  {"ada drew and aida drew a cat", "Ada drew and Ada drew a cat.", nil},
		"not in a rewritten text":            {"today sersha painted a pond", "Saoirse was very careful.", nil},
		"not a text of one word":             {"sersha", "Saoirse", nil},
		"nothing from a record without text": {"", "Today Saoirse painted a pond.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			lesson := e.lesson()
			e.say(lesson, c.recognised)
			e.save(lesson, c.record)
			got, err := e.Words(t.Context(), e.teacher)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// save creates a record of a lesson's session and learns from it.
func (e *env) save(l feedback.Lesson, content string) {
	e.t.Helper()
	e.record(l, content)
	tasks := e.take()
	require.Len(e.t, tasks, 1)
	require.NoError(e.t, e.run(tasks[0]))
}

// TestCorrectionsOfTheSummaryAreLearnt: a summary may be in other words than the transcript.
func TestCorrectionsOfTheSummaryAreLearnt(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) {
		c.Summarizer = fixedSummary("Everybody liked how Shawn mixed greens.")
	})
	_, err := e.SaveWords(t.Context(), e.teacher, []string{"Ada", "greens", "Nguyen"})
	require.NoError(t, err)
	lesson := e.lesson()
	e.say(lesson, "shawn mixed many greens")
	_, err = e.Generate(t.Context(), e.teacher, lesson.SessionID, nil)
	require.NoError(t, err)
	e.clock.Add(time.Second)
	e.save(lesson, "Everybody liked how Sean mixed greens.")
	got, err := e.Words(t.Context(), e.teacher)
	require.NoError(t, err)
	require.Equal(t, []string{"Sean", "greens", "Ada", "Nguyen"}, got, "the words of a record come first")
}

type fixedSummary string

func (s fixedSummary) Summarize(context.Context, feedback.SummaryInput) (feedback.Summary, error) {
	return feedback.Summary{Text: string(s), Source: feedback.SummaryRemote}, nil
}

func TestRecordingsAreTranscribedWithoutHints(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.Store = wordless{c.Store} })
	e.transcribed()
}

// That words cannot be stored does not lose the record, and a deleted record teaches nothing.
func TestLearningFailsAlone(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.Store = wordless{c.Store} })
	r := e.record(e.lesson(), "Siobhan painted.")
	task := e.take()[0]
	require.ErrorContains(t, e.run(task), "broken")
	require.NoError(t, e.DeleteRecord(t.Context(), e.teacher, r.ID))
	require.NoError(t, e.run(task))
}

// wordless is a store whose words cannot be read.
type wordless struct{ feedback.Store }

func (wordless) Words(context.Context, uuid.UUID) ([]string, error) { return nil, errors.New("broken") }

func (wordless) Hints(context.Context, uuid.UUID, uuid.UUID) (string, []string, error) {
	return "", nil, errors.New("broken")
}
