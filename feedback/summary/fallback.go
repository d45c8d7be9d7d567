package summary

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/script"
)

// warn adds a warning.
func warn(s *feedback.Summary, code feedback.SummaryWarning, text string) {
	s.Warning = strings.TrimSpace(s.Warning + "\n" + text)
	s.WarningCodes = append(s.WarningCodes, code)
}

// warnShortened adds a warning that names the sentences or records that were left out: the starts
// of some, and how many there are.
func warnShortened(s *feedback.Summary, what string, left []string) {
	const maxNamed, maxRunes = 20, 60
	text := fmt.Sprintf("The text was long; these %s were left out (%d):", what, len(left))
	for _, l := range left[:min(len(left), maxNamed)] {
		if r := []rune(l); len(r) > maxRunes {
			l = string(r[:maxRunes]) + "…"
		}
		text += "\n- " + l
	}
	if more := len(left) - maxNamed; more > 0 {
		text += fmt.Sprintf("\n- and %d more", more)
	}
	warn(s, feedback.WarningShortened, text)
}

// warnUnsupported adds a warning that names figures of the text with the words around them, in the
// text's language.
func warnUnsupported(s *feedback.Summary, figures []figure) {
	const maxNamed = 10
	text, named := "These numbers or dates were not said, please check them:", "\n- %s: %s"
	if strings.ContainsFunc(s.Text, script.IsUnspaced) {
		text, named = "这些数字或日期录音里没有提到，请核对：", "\n- %s：%s"
	}
	for _, f := range figures[:min(len(figures), maxNamed)] {
		text += fmt.Sprintf(named, f.text, around(s.Text, f))
	}
	if len(figures) > maxNamed {
		text += "\n- …"
	}
	warn(s, feedback.WarningUnsupported, text)
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
// used. If both fail, the error is primary's.
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
	s, err := f.summarizePrimary(ctx, in)
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	second, err2 := f.secondary.Summarize(ctx, in)
	if err2 != nil {
		return feedback.Summary{}, err
	}
	f.log.LogAttrs(ctx, slog.LevelWarn, "fallback summary used", slog.String("error", err.Error()))
	warn(&second, feedback.WarningFallback,
		"The summary service could not be used; this text consists of the lesson's own sentences.")
	return second, nil
}

// summarizePrimary leaves a tenth of the time, at most two seconds, to the fallback.
func (f *fallback) summarizePrimary(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-min(2*time.Second, time.Until(end)/10)))
		defer cancel()
	}
	return f.primary.Summarize(ctx, in)
}
