package words

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote quotes text of a file for a message and shortens it.
func Quote(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		r := []rune(s)
		s = string(r[:most]) + "…"
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' && !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	return "‘" + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\ufffd'
		}
		return r
	}, s) + "’"
}

// Some lists the first names, and how many more there are.
func Some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Join lists values of a string type, separated by commas.
func Join[S ~string](values []S) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}
