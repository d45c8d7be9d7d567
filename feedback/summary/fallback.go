package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/script"
)

func warn(s *feedback.Summary, code feedback.SummaryWarning, text string) {
	s.Warning = strings.TrimSpace(s.Warning + "\n" + text)
	s.WarningCodes = append(s.WarningCodes, code)
}

// warnNaming adds a warning with a line for each of what it names: the starts of some, and how many
// more there are.
func warnNaming(s *feedback.Summary, code feedback.SummaryWarning, text string, all []string) {
	const maxNamed, maxRunes = 20, 90
	for _, l := range all[:min(len(all), maxNamed)] {
		if r := []rune(l); len(r) > maxRunes {
			l = string(r[:maxRunes]) + "…"
		}
		text += "\n- " + l
	}
	if more := len(all) - maxNamed; more > 0 {
		text += fmt.Sprintf("\n- … (+%d)", more)
	}
	warn(s, code, text)
}

// inLanguage returns what is written in the language of a text.
func inLanguage(text, english, chinese string) string {
	if strings.ContainsFunc(text, script.IsUnspaced) {
		return chinese
	}
	return english
}

// named returns figures of a text with the words around the first, in the text's language.
func named(text string, figures ...figure) string {
	var all []string
	for _, f := range figures {
		all = append(all, f.text)
	}
	return strings.Join(all, inLanguage(text, ", ", "、")) + inLanguage(text, ": ", "：") + around(text, figures[0])
}

// around returns a figure of a text with what stands beside it in its line, up to some characters.
func around(text string, f figure) string {
	const maxRunes = 30
	before := []rune(text[strings.LastIndex(text[:f.start], "\n")+1 : f.start])
	after, _, _ := strings.Cut(text[f.start+len(f.text):], "\n")
	if n := len(before) - maxRunes; n > 0 {
		before = append([]rune("…"), before[n:]...)
	}
	if r := []rune(after); len(r) > maxRunes {
		after = string(r[:maxRunes]) + "…"
	}
	return string(before) + f.text + after
}

// Fallback returns a summarizer that uses primary and, if that fails, secondary, whose summary then
// carries a warning. The failure is logged if logger is not nil. If ctx has a deadline, primary has
// a little less time, so that there is some left for secondary; if ctx has ended, secondary is not
// used. If both fail, the error is primary's, unless secondary found nothing to write.
func Fallback(primary, secondary feedback.Summarizer, logger *slog.Logger) feedback.Summarizer {
	return &fallback{primary, secondary, cmp.Or(logger, slog.New(slog.DiscardHandler))}
}

type fallback struct {
	primary, secondary feedback.Summarizer
	log                *slog.Logger
}

// Summarize implements [feedback.Summarizer].
func (f *fallback) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	first := ctx
	if end, ok := ctx.Deadline(); ok { // a tenth of the time, at most two seconds, is left for secondary
		var cancel context.CancelFunc
		first, cancel = context.WithDeadline(ctx, end.Add(-min(2*time.Second, time.Until(end)/10)))
		defer cancel()
	}
	s, err := f.primary.Summarize(first, in)
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	f.log.LogAttrs(ctx, slog.LevelWarn, "trying the fallback", slog.String("error", err.Error()))
	second, err2 := f.secondary.Summarize(ctx, in)
	switch {
	case errors.Is(err2, feedback.ErrNothingTranscribed):
		return feedback.Summary{}, err2
	case err2 != nil:
		return feedback.Summary{}, err
	}
	warn(&second, feedback.WarningFallback,
		"The summary service could not be used; this text consists of the lesson's own sentences.")
	return second, nil
}
