package local

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/internal/markers"
	"lessonkit.example/asr/provider"
)

// reply is the union of what the servers return.
type reply struct {
	Text      *string         `json:"text"`
	Error     json.RawMessage `json:"error"`
	Code      json.RawMessage `json:"code"`
	Language  string          `json:"language"`
	Segments  []segment       `json:"segments"`
	Words     []word          `json:"words"`
	Sentences []segment       `json:"sentences"` // FunASR's own server, in milliseconds
}

type segment struct {
	Start number `json:"start"`
	End   number `json:"end"`
	Text  string `json:"text"`
	Words []word `json:"words"` // whisper.cpp

	NoSpeechProb     number `json:"no_speech_prob"`
	AvgLogProb       number `json:"avg_logprob"`
	CompressionRatio number `json:"compression_ratio"`
}

// word is a word with its times, or a part of one from whisper.cpp.
type word struct {
	Word  string `json:"word"`
	Text  string `json:"text"` // LocalAI
	Start number `json:"start"`
	End   number `json:"end"`
}

// notNumber is a figure that is not a number, as Python's encoder writes it.
var notNumber = regexp.MustCompile(`("\s*:\s*)-?(?:NaN|Infinity)\b`)

// durationOfVLLM is a field of its answers with times, which have no words. They lack what is said
// after the last whole segment of each 30 seconds, in the text too (its issue 58029).
var durationOfVLLM = regexp.MustCompile(`"duration":\s*"[\d.]+"`)

// parseAnswer reads the body of an answer with status 200 to a recording. Its errors do not contain
// what may have been said.
func parseAnswer(body []byte, sent asr.Audio) (asr.Transcript, error) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '"' { // FunASR returns plain text as a JSON string
		var text string
		if err := json.Unmarshal(body, &text); err == nil {
			return asr.Transcript{Text: clean(text)}, nil
		}
	}
	var v reply
	if len(body) == 0 || body[0] != '{' {
		return asr.Transcript{}, unexpected("the answer is not a JSON object: " + provider.Shape(body))
	}
	if !json.Valid(body) {
		body = notNumber.ReplaceAll(body, []byte("${1}null"))
	}
	err := json.Unmarshal(body, &v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // fields of other forms are left out
		err = json.Unmarshal(body, &struct{ Text *string }{})
	}
	if err != nil {
		return asr.Transcript{}, unexpected("the answer cannot be parsed: " + provider.Shape(body))
	}
	if isSet(v.Error) || isErrorCode(v.Code) {
		return asr.Transcript{}, unexpected(provider.Excerpt(errorText(body), sent))
	}
	if v.Text == nil {
		return asr.Transcript{}, unexpected("the answer has no text: " + provider.Shape(body))
	}
	t := asr.Transcript{Text: clean(*v.Text), Language: v.Language}
	unit := v.unit()
	words, segments, segmentUnit := appendWords(nil, v.Words, unit), v.Segments, unit
	if len(segments) == 0 {
		segments, segmentUnit = v.Sentences, time.Millisecond
	}
	for _, s := range segments {
		start, end, text := s.Start.in(segmentUnit), max(s.Start, s.End).in(segmentUnit), clean(s.Text)
		if text == "" { // it was a marker, and its words parts of it
			words = slices.DeleteFunc(words, func(w asr.Word) bool { return start <= w.Start && w.Start < end })
			continue
		}
		t.Segments = append(t.Segments, asr.Segment{
			Start: start, End: end, Text: text,
			NoSpeechProb: float64(s.NoSpeechProb), AvgLogProb: float64(s.AvgLogProb),
			CompressionRatio: float64(s.CompressionRatio),
		})
		if len(v.Words) == 0 {
			t.Words = appendWords(t.Words, s.Words, unit)
		}
	}
	t.Words = append(t.Words, words...)
	return t, nil
}

// unit returns the unit of the times. LocalAI before release 4.2 returns nanoseconds, of which even
// a word has more than a recording has seconds; one among others is an error.
func (v reply) unit() time.Duration {
	var ends []number
	for _, s := range v.Segments {
		ends = append(ends, s.End)
	}
	for _, w := range v.Words {
		ends = append(ends, w.End)
	}
	ends = slices.DeleteFunc(ends, func(n number) bool { return n <= 0 })
	if len(ends) > 0 && slices.Min(ends) >= 1e6 {
		return time.Nanosecond
	}
	return time.Second
}

func appendWords(to []asr.Word, words []word, unit time.Duration) []asr.Word {
	for _, w := range words {
		if text := clean(cmp.Or(w.Word, w.Text)); text != "" {
			to = append(to, asr.Word{Start: w.Start.in(unit), End: max(w.Start, w.End).in(unit), Text: text})
		}
	}
	return to
}

// unexpected returns the error for an answer that has the status 200 and is not a transcript.
func unexpected(message string) error {
	return &asr.Error{Op: op, Status: http.StatusOK, Message: message}
}

// clean joins the lines of a text, which has one for each segment, and drops markers such as
// [BLANK_AUDIO] and tags such as <|zh|>.
func clean(text string) string {
	lines := strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	for i, line := range lines {
		lines[i] = markers.Drop(line)
	}
	return asr.JoinText(lines...)
}

// number is a JSON number or, from vLLM, a string that contains one. Anything else is 0.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || !(math.Abs(f) <= 1e15) {
		f = 0
	}
	*n = number(f)
	return nil
}

func (n number) in(unit time.Duration) time.Duration {
	return time.Duration(math.Round(min(max(float64(n), 0)*float64(unit), 1e15))) // at most 11 days
}

func isSet(raw json.RawMessage) bool {
	s := string(bytes.TrimSpace(raw))
	return s != "" && s != "null" && s != `""` && s != "false"
}

// isErrorCode reports whether the field "code" of FunASR's own server means a failure.
func isErrorCode(raw json.RawMessage) bool {
	s := strings.Trim(string(bytes.TrimSpace(raw)), `"`)
	return s != "" && s != "null" && s != "0" && s != "200"
}

// errorText returns the message in an error body of any of the servers, or the shape of a page and
// of JSON without one.
func errorText(body []byte) string {
	var v map[string]json.RawMessage
	if json.Unmarshal(body, &v) != nil && !provider.IsHTML(body) {
		var s string
		if json.Unmarshal(body, &s) == nil {
			return s
		}
		return string(body)
	}
	for _, name := range []string{"error", "detail", "msg", "message", "reason"} {
		raw := v[name]
		var text string
		var object struct {
			Message string `json:"message"`
			Msg     string `json:"msg"`
		}
		var list []struct {
			Loc []any  `json:"loc"`
			Msg string `json:"msg"`
		}
		switch {
		case json.Unmarshal(raw, &text) == nil && text != "":
			return text
		case json.Unmarshal(raw, &object) == nil && object.Message+object.Msg != "":
			return object.Message + object.Msg
		case json.Unmarshal(raw, &list) == nil && len(list) > 0: // FastAPI's validation
			var parts []string
			for _, e := range list {
				var loc []string
				for _, l := range e.Loc {
					loc = append(loc, fmt.Sprint(l))
				}
				parts = append(parts, strings.Trim(strings.Join(loc, ".")+": "+e.Msg, ": "))
			}
			return strings.Join(parts, "; ")
		}
	}
	return "the answer is " + provider.Shape(body)
}
