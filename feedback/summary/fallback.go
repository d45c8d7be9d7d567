package summary

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"lessonkit.example/feedback"
)

// fallbackWarning is for the teacher, who sees it beside the text.
const fallbackWarning = "The summary service could not be used; this text is made from the lesson's own sentences."

// Fallback returns a summarizer that asks primary and, when that fails, secondary,
// whose summary then carries a warning. A failure is logged to logger, if not nil.
// No fallback is made once ctx has ended, nor for an input without words
// ([ErrNoText]). Where ctx has a deadline, primary gets a little less, so
// that there is time for secondary. When both fail, the error is primary's.
func Fallback(primary, secondary feedback.Summarizer, logger *slog.Logger) feedback.Summarizer {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &fallback{primary, secondary, logger}
}

type fallback struct {
	primary, secondary feedback.Summarizer
	log                *slog.Logger
}

// Summarize implements [feedback.Summarizer].
func (f *fallback) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	s, err := f.try(ctx, in)
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	second, err2 := f.secondary.Summarize(ctx, in)
	if err2 != nil {
		return feedback.Summary{}, err
	}
	f.log.LogAttrs(ctx, slog.LevelWarn, "summary made without its endpoint", slog.String("error", err.Error()))
	second.Warning = strings.TrimSpace(fallbackWarning + " " + second.Warning)
	return second, nil
}

// try asks primary in all but the last tenth of the time, at most two seconds.
func (f *fallback) try(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-min(2*time.Second, time.Until(end)/10)))
		defer cancel()
	}
	return f.primary.Summarize(ctx, in)
}
