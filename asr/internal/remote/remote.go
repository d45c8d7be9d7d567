// Package remote reads what servers say when they refuse.
package remote

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// RetryAfter reads a Retry-After header: seconds or a date (RFC 9110, 10.2.3), of at most an hour. 0 when there is none.
func RetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), 3600)) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(now), 0), time.Hour)
	}
	return 0
}

// Excerpt is the start of a text in one printable line of at most 200 bytes.
func Excerpt(text string) string {
	const limit = 200
	text = cut(text, 4*limit) // an answer may have megabytes
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(cut(text, limit))
}

// cut returns at most the first n bytes, and no part of a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
