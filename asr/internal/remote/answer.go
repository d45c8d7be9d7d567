package remote

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ReadBody reads an answer of at most limit bytes.
func ReadBody(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("longer than %d bytes", limit)
	}
	return b, err
}

// RetryAfter parses a Retry-After header: seconds or a date (RFC 9110, section 10.2.3). The result
// is at most an hour, and 0 for a header that is missing or malformed.
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

// Excerpt returns the start of a text as one printable line of at most 200 bytes.
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

// cut returns at most the first n bytes of text, without splitting a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
