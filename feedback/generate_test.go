package feedback_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/summary"
)

// A transcriber may transcribe noise as a remark or a mark.
func TestGenerateWithoutWordsIsNothingTranscribed(t *testing.T) {
	t.Parallel()
	local := summary.Local{}
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = summary.Fallback(local, local, nil) })
	l := e.lesson()
	e.say(l, "[Music] …。")
	_, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
	require.ErrorIs(t, err, feedback.ErrNothingTranscribed)
	require.NotErrorIs(t, err, feedback.ErrSummary)
}

func TestGenerateTakesEachLessonOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = summary.Local{} })
	l := e.transcribed()
	g, err := e.Generate(t.Context(), e.teacher, l.SessionID, []uuid.UUID{l.ID, l.ID})
	require.NoError(t, err)
	require.Equal(t, 1, g.Lessons)
	_, err = e.MarkApplied(t.Context(), e.teacher, l.ID)
	require.NoError(t, err)
	_, err = e.Generate(t.Context(), e.teacher, l.SessionID, nil)
	require.ErrorIs(t, err, feedback.ErrNothingTranscribed)
	require.ErrorContains(t, err, "all lessons are applied")
}

// TestASummarizerGetsWhatItNeeds runs on a server eleven hours ahead of the teacher.
func TestASummarizerGetsWhatItNeeds(t *testing.T) {
	t.Parallel()
	s := &listening{}
	e := newEnv(t, func(c *feedback.Config) {
		c.Summarizer = s
		now := c.Now
		c.Now = func() time.Time { return now().In(time.FixedZone("", 11*60*60)) }
	})
	p, err := e.CreateProfile(t.Context(), e.teacher, feedback.ProfileInput{Name: "Ming", GuardianTitle: "Ms Ming",
		Subject: new("Piano"), Grade: new("Grade 2"), Term: "autumn"})
	require.NoError(t, err)
	_, err = e.SaveWords(t.Context(), e.teacher, []string{"Hanon"})
	require.NoError(t, err)
	require.NoError(t, e.SaveDefaults(t.Context(), e.teacher,
		feedback.Defaults{LessonDurationMinutes: 45, SummaryInstructions: "Be brief."}))
	for _, content := range []string{"older", "Practise bars 1 to 8."} {
		_, _, err = e.CreateRecord(t.Context(), e.teacher,
			feedback.RecordInput{ProfileID: p.ID, Date: "2026-05-24", Content: content})
		require.NoError(t, err)
		e.clock.Add(time.Second)
	}
	session, _, err := e.OpenSession(t.Context(), e.teacher,
		feedback.SessionInput{ProfileID: p.ID, Date: new("2026-05-31")})
	require.NoError(t, err)
	for range 2 {
		l, err := e.StartLesson(t.Context(), e.teacher, session.ID)
		require.NoError(t, err)
		e.say(l, "hello")
		_, err = e.FinishLesson(t.Context(), e.teacher, l.ID)
		require.NoError(t, err)
		e.clock.Add(48 * time.Hour)
	}
	_, err = e.Generate(t.Context(), e.teacher, session.ID, nil)
	require.NoError(t, err)
	require.Equal(t, feedback.SummaryInput{
		Lessons: []feedback.SummaryLesson{{Text: "hello", Date: "2026-05-31"}, {Text: "hello", Date: "2026-06-02"}},
		Student: "Ming", GuardianTitle: "Ms Ming", Subject: "Piano", Grade: "Grade 2", Term: "autumn",
		Date: "2026-05-31", LastRecord: "Practise bars 1 to 8.", Words: []string{"Hanon"}, Instructions: "Be brief.",
	}, s.heard)
}
