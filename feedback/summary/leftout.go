package summary

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/evidence"
)

// leftOutTime is how long leftOut may take: two hours of notes need some seconds.
const leftOutTime = 20 * time.Second

// leftOut returns what [Local] would write of the notes and a text lacks: numbers, weekdays and
// months, with the words around them, and clauses of homework and notices without any. Of other
// clauses it cannot tell: a model may say in other words what has the same figures.
func leftOut(ctx context.Context, in feedback.SummaryInput, text string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, leftOutTime)
	defer cancel()
	names, known := strings.Fields(in.Student), valuesIn(text)
	maps.Copy(known, valuesIn(in.Student+"\n"+in.GuardianTitle)) // who may be "she" in the text
	var left []string
	add := func(line string) {
		const most = 1000 // fewer are shown
		if len(left) < most && !slices.ContainsFunc(left, func(l string) bool { return strings.Contains(l, line) }) {
			left = append(left, line)
		}
	}
	for i, l := range in.Lessons {
		words, err := clean(ctx, l.Text)
		if err != nil {
			return nil, err
		}
		var clauses []string
		for _, p := range pieces(words, i) {
			for _, s := range parts(p.words, sentence) {
				said := write(s, names)
				if missing := lacking(said, known); len(missing) > 0 {
					add(named(said, missing...))
				}
			}
			if p.place == inLesson {
				continue
			}
			for _, c := range parts(p.words, clause) {
				said := strings.TrimRight(write(c, names), ",，")
				if !slices.ContainsFunc(figures(said), func(f figure) bool { return !f.vague }) {
					clauses = append(clauses, said)
				}
			}
		}
		for _, s := range evidence.Find(strings.Join(clauses, "\n"), []string{text}, in.Student, in.GuardianTitle) {
			if !s.Supported {
				add(s.Text)
			}
		}
	}
	return left, nil
}
