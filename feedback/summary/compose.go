package summary

import (
	"strings"

	"lessonkit.example/feedback/internal/script"
)

// compose joins units to a text with a paragraph for each lesson. It adds missing end marks.
func compose(units []unit) string {
	var b strings.Builder
	last := ""
	for i, u := range units {
		text := u.text
		switch {
		case i == 0:
		case u.lesson != units[i-1].lesson:
			b.WriteString("\n\n")
		case u.glued:
			b.WriteString(u.gap)
		default:
			b.WriteString(space(last, text))
		}
		if i+1 == len(units) || !units[i+1].glued {
			text = closed(text)
		}
		b.WriteString(text)
		last = text
	}
	return b.String()
}

// closed returns s with an end mark of its script.
func closed(s string) string {
	trimmed := strings.TrimRight(s, ",，、：:;；-—– ")
	if endsSentence(s) || trimmed == "" {
		return s
	}
	return trimmed + script.FullStop(trimmed)
}
