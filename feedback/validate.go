package feedback

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	dateLayout       = time.DateOnly
	timeOfDayLayout  = "15:04"
	maxStringLength  = 100    // characters of a name, grade, subject, term or title
	maxContentLength = 20_000 // characters of a feedback text
)

// validator collects all invalid fields, so that a client can correct them at once.
type validator struct{ fields []FieldError }

func (v *validator) fail(field, format string, args ...any) *FieldError {
	v.fields = append(v.fields, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	return &v.fields[len(v.fields)-1]
}

func (v *validator) tooLong(field string, limit int, format string, args ...any) {
	e := v.fail(field, format, args...)
	e.Code, e.Limit = "too_long", limit
}

func (v *validator) err() error {
	if len(v.fields) == 0 {
		return nil
	}
	return &Error{Kind: ErrInvalid, Message: "some fields are invalid", Fields: v.fields}
}

// name validates a line that must not be empty and returns it trimmed.
func (v *validator) name(field, s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		v.fail(field, "must not be empty")
	} else if !strings.ContainsFunc(s, isVisible) {
		v.fail(field, "must contain a visible character")
	}
	return v.line(field, s)
}

// isVisible reports whether a character leaves a mark of its own. Unicode classifies some that do
// not as letters and symbols.
func isVisible(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u3164', '\uFFA0', // Hangul fillers
		'\u2800': // Braille pattern blank
		return false
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
}

// line validates a short text of one line.
func (v *validator) line(field, s string) string {
	if n := utf8.RuneCountInString(s); n > maxStringLength {
		v.tooLong(field, maxStringLength, "has %d characters; at most %d are allowed", n, maxStringLength)
	}
	v.characters(field, s, "")
	if i := strings.IndexFunc(s, breaksLine); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		v.fail(field, "contains the control character %U", r)
	}
	return s
}

// breaksLine reports whether a character changes the direction or the line of what is shown around
// the text.
func breaksLine(r rune) bool {
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' || r == '\u2028' || r == '\u2029'
}

// text validates a long text of any number of lines.
func (v *validator) text(field, s string, minLength, maxLength int) {
	switch n := utf8.RuneCountInString(s); {
	case n > maxLength:
		v.tooLong(field, maxLength, "has %d characters; %d to %d are allowed", n, minLength, maxLength)
	case n < minLength:
		v.fail(field, "has %d characters; %d to %d are allowed", n, minLength, maxLength)
	}
	v.characters(field, s, "\n\r\t")
}

func (v *validator) characters(field, s, allowed string) {
	if !utf8.ValidString(s) {
		v.fail(field, "is not valid UTF-8")
		return
	}
	for _, r := range s {
		if unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			v.fail(field, "contains the control character %U", r)
			return
		}
	}
}

func (v *validator) between(field string, n, low, high int) int {
	if n < low || n > high {
		v.fail(field, "is %d; must be %d to %d", n, low, high)
	}
	return n
}

func (v *validator) timeOfDay(field, s string) string {
	if s == "" {
		return s
	}
	if t, err := time.Parse(timeOfDayLayout, s); err != nil || t.Format(timeOfDayLayout) != s {
		v.fail(field, "must be a time of day from 00:00 to 23:59, such as 09:30, or empty")
	}
	return s
}

func (v *validator) language(field, s string) {
	if s != "" && !languageTag.MatchString(s) {
		v.fail(field, "must be a language tag such as en or zh-CN, or empty")
	}
}

func (v *validator) date(field, s string) string {
	if t, err := time.Parse(dateLayout, s); err != nil || t.Year() < 1 {
		v.fail(field, "must be a date such as 2026-05-31")
	}
	return s
}

// cleanText makes text from other systems fit to be stored and shown: valid UTF-8 without control
// characters other than line breaks and tabs.
func cleanText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s))
}
