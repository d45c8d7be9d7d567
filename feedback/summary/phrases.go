package summary

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed phrases.txt
var phraseText string

// phrases returns the expressions of phrases.txt by their names.
var phrases = sync.OnceValue(func() map[string]*regexp.Regexp {
	all, parts := map[string]*regexp.Regexp{}, []string(nil)
	for line := range strings.Lines(phraseText) {
		if title, text, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
			text = strings.NewReplacer(parts...).Replace(text)
			parts = append(parts, "{"+title+"}", text)
			all[title] = regexp.MustCompile(`^(?:` + text + `)$`)
		}
	}
	return all
})

// says reports whether a text is what one of the phrases matches.
func says(text string, titles ...string) bool {
	for _, t := range titles {
		if phrases()[t].MatchString(text) {
			return true
		}
	}
	return false
}
