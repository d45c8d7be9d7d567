package feedback_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/summary"
)

// TestSentencesOfTextsNameTheirRecordings, whoever has written them.
func TestSentencesOfTextsNameTheirRecordings(t *testing.T) {
	t.Parallel()
	var summarizer feedback.Summarizer
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = chosen{&summarizer} })
	l := e.lesson()
	greens := e.say(l, "Um, today Ming mixed greens. And then he").ID
	end := e.say(l, "painted a pond with, uh, lilies.").ID
	scale := e.say(l, "He was tired. Please bring a white shirt on Friday. He played the scale of D.").ID
	fee := e.say(l, "The fee is thirty, the fee is forty pounds.").ID
	e.addOf(l, "not transcribed", 0)
	sentences := func() []feedback.SummarySentence {
		t.Helper()
		g, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
		require.NoError(t, err)
		return g.Sentences
	}
	summarizer = summary.Local{}
	require.Equal(t, []feedback.SummarySentence{
		{"Today Ming mixed greens.", []uuid.UUID{greens}, true, false},
		{"Then he painted a pond with lilies.", []uuid.UUID{greens, end}, true, false},
		{"He was tired.", []uuid.UUID{scale}, true, false},
		{"Please bring a white shirt on Friday.", []uuid.UUID{scale}, true, false},
		{"He played the scale of D. The fee is thirty, the fee is forty pounds.", []uuid.UUID{scale, fee}, true, true},
	}, sentences())
	summarizer = fixedSummary("Ming blended several greens. Ming dreams of an exhibition in Paris.\n\n" +
		"A white shirt is needed for Friday.")
	require.Equal(t, []feedback.SummarySentence{
		{"Ming blended several greens.", []uuid.UUID{greens}, true, false},
		{"Ming dreams of an exhibition in Paris.", nil, false, false},
		{"A white shirt is needed for Friday.", []uuid.UUID{scale}, true, false},
	}, sentences())
	summarizer = fixedSummary("小明今天调了绿色。")
	require.Empty(t, sentences(), "a translation cannot be compared")

	// What the teacher has corrected is what counts.
	edit := feedback.SegmentEdit{Text: new("dreamt of an exhibition in Paris")}
	_, err := e.EditSegment(t.Context(), e.teacher, end, edit)
	require.NoError(t, err)
	summarizer = fixedSummary("Ming dreams of an exhibition in Paris.")
	require.Equal(t, []feedback.SummarySentence{
		{"Ming dreams of an exhibition in Paris.", []uuid.UUID{end}, true, false}}, sentences())
}

// chosen is a summarizer of the test's choice.
type chosen struct{ summarizer *feedback.Summarizer }

func (c chosen) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	return (*c.summarizer).Summarize(ctx, in)
}
