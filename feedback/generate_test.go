package feedback_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/summary"
)

// A transcriber may transcribe noise as a remark or a mark.
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

func TestGenerateTakesALessonThatIsNamedTwiceOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = summary.Extractive{} })
	l := e.lesson()
	_, task := e.add(l, "x")
	require.NoError(t, e.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "t", Number: 1}))
	g, err := e.Generate(t.Context(), e.teacher, l.SessionID, []uuid.UUID{l.ID, l.ID})
	require.NoError(t, err)
	require.Equal(t, 1, g.Lessons)
}
