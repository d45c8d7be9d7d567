package summary

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed phrases.txt
var phraseText string

// phrases returns the expressions of phrases.txt by their names. Each is compiled when it is first
// used, since most are only parts of others.
var phrases = sync.OnceValue(func() map[string]func() *regexp.Regexp {
	all, parts := map[string]func() *regexp.Regexp{}, []string(nil)
	for line := range strings.Lines(phraseText) {
		if title, text, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
			text = strings.NewReplacer(parts...).Replace(text)
			parts = append(parts, "{"+title+"}", text)
			all[title] = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + text + `)$`) })
		}
	}
	return all
})

// says reports whether a text is what one of the phrases matches.
func says(text string, titles ...string) bool {
	for _, t := range titles {
		if phrases()[t]().MatchString(text) {
			return true
		}
	}
	return false
}
