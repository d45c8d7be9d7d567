package summary

import (
	"context"
	"slices"
	"strings"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/evidence"
)

// leftOut returns what [Local] would write of the notes and a text lacks: numbers, weekdays and
// months, with the words around them, and clauses of homework and notices without any.
func leftOut(ctx context.Context, in feedback.SummaryInput, text string) ([]string, error) {
	var left, clauses []string
	names, known := strings.Fields(in.Student), map[string]bool{}
	for i, l := range in.Lessons {
		words, err := clean(ctx, l.Text)
		if err != nil {
			return nil, err
		}
		for _, p := range pieces(words, i) {
			for _, s := range parts(p.words, sentence) {
				said := write(s, names)
				missing := slices.DeleteFunc(unsupported(said, text), func(f figure) bool { return known[f.value] })
				for _, f := range missing {
					known[f.value] = true
				}
				if len(missing) > 0 {
					left = append(left, named(said, missing...))
				}
			}
			if p.place == inLesson {
				continue
			}
			for _, c := range parts(p.words, clause) {
				clauses = append(clauses, strings.TrimRight(write(c, names), ",，"))
			}
		}
	}
	follows := false // one that is left out, too
	for _, s := range evidence.Find(strings.Join(clauses, "\n"), []string{text}, in.Student, in.GuardianTitle) {
		isLeft := !s.Supported && len(figures(s.Text)) == 0
		switch last := len(left) - 1; {
		case isLeft && follows:
			left[last] += inLanguage(s.Text, ", ", "，") + s.Text
		case isLeft:
			left = append(left, s.Text)
		}
		follows = isLeft
	}
	return left, nil
}
