package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"lessonkit.example/asr"
	"lessonkit.example/internal/retryafter"
)

// ReadBody reads an answer of at most limit bytes.
func ReadBody(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("longer than %d bytes", limit)
	}
	return b, err
}

// StatusError returns the error for an answer whose status is not 200, with the class that the
// status means for a recording whose format Open has accepted. message is what the answer says;
// pass it through Excerpt.
//
//   - 408, 425, 429, 499, 503: ErrUnavailable, with the delay of Retry-After, at most an hour.
//   - 502, 504: ErrLost, because a proxy has lost the recogniser behind it.
//   - 400, 413, 415, 422: ErrUnusableAudio.
//   - 402: ErrRefused.
//   - 3xx, 501 and other 4xx: ErrMisconfigured.
//   - others, such as 500: none.
func StatusError(op string, resp *http.Response, message string) *asr.Error {
	e := &asr.Error{Op: op, Status: resp.StatusCode, Message: message}
	explain := func(text string) { e.Message = strings.TrimSuffix(text+": "+message, ": ") }
	switch s := resp.StatusCode; {
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s == 499,
		s == http.StatusServiceUnavailable:
		e.Class = asr.ErrUnavailable
		e.After = min(retryafter.Parse(resp.Header), time.Hour)
	case s == http.StatusBadGateway, s == http.StatusGatewayTimeout:
		e.Class = asr.ErrLost
		explain("a proxy got no answer from the recogniser")
	case s == http.StatusRequestEntityTooLarge:
		e.Class = asr.ErrUnusableAudio
		explain("it is larger than the recogniser, or a proxy before it, accepts")
	case s == http.StatusBadRequest, s == http.StatusUnsupportedMediaType, s == http.StatusUnprocessableEntity:
		e.Class = asr.ErrUnusableAudio
	case s == http.StatusPaymentRequired:
		e.Class = asr.ErrRefused
	case s >= 300 && s < 400:
		e.Class = asr.ErrMisconfigured
		e.Message = "it redirects, which is not followed; configure the address it redirects to"
		if to, err := resp.Location(); err == nil { // its user and its query may have secrets
			address := (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
			e.Message += ", " + Excerpt(address, asr.Audio{})
		}
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusProxyAuthRequired:
		e.Class = asr.ErrMisconfigured
		explain("the key is missing or wrong")
	case s >= 400 && s < 500, s == http.StatusNotImplemented:
		e.Class = asr.ErrMisconfigured
	}
	return e
}

// Shape describes an answer that is not of the expected form, without its content, which may be
// what was said: "JSON of 96 bytes".
func Shape(answer []byte) string {
	form := "text"
	switch {
	case IsHTML(answer):
		form = "an HTML page"
	case json.Valid(answer):
		form = "JSON"
	}
	return fmt.Sprintf("%s of %d bytes", form, len(answer))
}

// IsHTML reports whether an answer is an HTML page.
func IsHTML(answer []byte) bool {
	head := strings.ToLower(string(bytes.TrimSpace(answer[:min(len(answer), 256)])))
	return strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html")
}

// maxSent limits the words and the prompt that Excerpt looks for, in bytes: they become a pattern
// that takes 2000 times as much memory.
const maxSent = 32 << 10

// Excerpt returns the start of a message of the recogniser as one printable line of at most 200
// bytes. Where it repeats the words or the prompt of the recording that was sent, it has "…". It is
// "" if these are longer than 32 KiB, which is too much to look for.
func Excerpt(text string, sent asr.Audio) string {
	const limit = 200
	text = strings.ToValidUTF8(text[:min(len(text), 64*limit)], "\uFFFD") // an answer may have megabytes
	size := len(sent.Prompt)
	for _, word := range sent.Words {
		size += len(word)
	}
	if text == "" || size > maxSent {
		return ""
	}
	if words := sentWords(sent); words != nil {
		text = words.ReplaceAllString(text, "…")
	}
	text = strings.Join(strings.Fields(text), " ")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), limit)], ""))
}

// plainWord is a word whose boundaries \b finds.
var plainWord = regexp.MustCompile(`^\w+$`)

// sentWords matches the words and the prompt of a recording, as a whole and in parts, plain and
// escaped as in JSON and in addresses. It is nil if there are none.
func sentWords(sent asr.Audio) *regexp.Regexp {
	texts := append(slices.Clone(sent.Words), sent.Prompt)
	for _, text := range texts {
		texts = append(texts, strings.FieldsFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
		})...)
	}
	var patterns []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		for _, form := range []string{text, strings.Trim(strconv.QuoteToASCII(text), `"`), url.QueryEscape(text)} {
			form = strings.ToValidUTF8(form, "\uFFFD") // as in the text that is searched
			pattern := regexp.QuoteMeta(form)
			if plainWord.MatchString(form) {
				pattern = `\b` + pattern + `\b`
			}
			patterns = append(patterns, pattern)
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	slices.SortFunc(patterns, func(a, b string) int { return len(b) - len(a) }) // the first that matches wins
	return regexp.MustCompile("(?i)" + strings.Join(slices.Compact(patterns), "|"))
}
