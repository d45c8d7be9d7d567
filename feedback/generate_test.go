package feedback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/summary"
)

// A recogniser may transcribe noise as a remark or a mark.
func TestGenerateWithoutWordsIsNothingTranscribed(t *testing.T) {
	t.Parallel()
	local := summary.Extractive{}
	for _, s := range []feedback.Summarizer{local, summary.Fallback(local, local, nil)} {
		e := newEnv(t, func(c *feedback.Config) { c.Summarizer = s })
		l := e.lesson()
		_, task := e.add(l, "x")
		e.speech.answer = says("[Music] …。", nil)
		require.NoError(t, e.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "t", Number: 1}))
		_, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
		require.ErrorIs(t, err, feedback.ErrNothingTranscribed)
		require.NotErrorIs(t, err, feedback.ErrSummary)
	}
}
