package summary

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func TestFallback(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	fails := summarizer(func(context.Context) (feedback.Summary, error) {
		return feedback.Summary{}, errors.New("away")
	})
	works := summarizer(func(context.Context) (feedback.Summary, error) {
		return feedback.Summary{Text: "remote", Source: feedback.SummaryRemote}, nil
	})

	s, err := Fallback(works, Local{}, log).Summarize(t.Context(), input)
	require.NoError(t, err)
	require.Equal(t, feedback.Summary{Text: "remote", Source: feedback.SummaryRemote}, s)
	require.Empty(t, logged.String())

	s, err = Fallback(fails, Local{}, log).Summarize(t.Context(), input)
	require.NoError(t, err)
	require.Equal(t, feedback.Summary{
		Text: "The secret sentence about Ana.", Source: feedback.SummaryLocal,
		Warning:      "The summary service could not be used; this text consists of the lesson's own sentences.",
		WarningCodes: []feedback.SummaryWarning{feedback.WarningFallback},
	}, s)
	require.Contains(t, logged.String(), "error=away")

	_, err = Fallback(fails, fails, nil).Summarize(t.Context(), input)
	require.EqualError(t, err, "away")

	logged.Reset()
	_, err = Fallback(fails, Local{}, log).Summarize(t.Context(),
		feedback.SummaryInput{Lessons: lessonsOf("Don't write any of this.")})
	require.ErrorIs(t, err, feedback.ErrNothingTranscribed)
	require.Contains(t, logged.String(), "error=away")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Fallback(fails, works, nil).Summarize(ctx, input)
	require.Error(t, err, "the context has ended")
}

func TestFallbackHasTimeLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := summarizer(func(ctx context.Context) (feedback.Summary, error) {
			<-ctx.Done()
			return feedback.Summary{}, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s, err := Fallback(hangs, Local{}, nil).Summarize(ctx, input)
		require.NoError(t, err)
		require.Equal(t, feedback.SummaryLocal, s.Source)
	})
}

type summarizer func(context.Context) (feedback.Summary, error)

func (f summarizer) Summarize(ctx context.Context, _ feedback.SummaryInput) (feedback.Summary, error) {
	return f(ctx)
}
