package command

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/asr"
)

// A Parser adds a line of a program's standard output to the transcript. Text may be left empty
// where the segments contain all of it. It is called for several recordings at once, so it keeps
// nothing elsewhere; and not for what follows a Text that is longer than anybody can speak.
type Parser func(t *asr.Transcript, line string)

// Lines is a Parser for output that is the text.
func Lines(t *asr.Transcript, line string) { t.Text = asr.JoinText(t.Text, line) }

var (
	timedWord = regexp.MustCompile(`^(\S+) (\d+\.\d+) (\d+\.\d+) [\d.]+$`)
	timedLine = regexp.MustCompile(`^\[(\d+):(\d+):(\d+\.\d+) --> (\d+):(\d+):(\d+\.\d+)\]\s*(.*)$`)
)

// Timed is a Parser for lines with times: "[00:00:00.000 --> 00:00:02.500]   text", as whisper-cli
// prints; or a line for each utterance, followed by one with times for each of its words, as
// pocketsphinx_continuous -time yes prints. Each line or utterance becomes a segment. Lines without
// times are text.
func Timed(t *asr.Transcript, line string) {
	if m := timedLine.FindStringSubmatch(line); m != nil {
		t.Segments = append(t.Segments, asr.Segment{
			Start: span(m[1:4], 3600, 60, 1), End: span(m[4:7], 3600, 60, 1), Text: strings.TrimSpace(m[7]),
		})
	} else if m := timedWord.FindStringSubmatch(line); m != nil {
		addWord(t, m[1], span(m[2:3], 1), span(m[3:4], 1))
	} else if text := strings.TrimSpace(line); text != "" {
		t.Segments = append(t.Segments, asr.Segment{Text: text})
	}
}

// addWord adds a word of PocketSphinx to the last utterance.
func addWord(t *asr.Transcript, text string, start, end time.Duration) {
	n := len(t.Segments)
	if n == 0 || strings.HasPrefix(text, "<") || strings.HasPrefix(text, "[") { // silence and noise
		return
	}
	s := &t.Segments[n-1]
	if s.End == 0 {
		s.Start = start
	}
	s.End = max(s.End, end)
	text, _, _ = strings.Cut(text, "(") // "hello(2)" is the second pronunciation
	t.Words = append(t.Words, asr.Word{Start: start, End: end, Text: text})
}

// JSON is a Parser for output with a JSON object in a line: that of sherpa-onnx-offline, whose text
// is the field "text" of the last object that has one; and that of PocketSphinx 5, which has an
// object for each utterance, with the fields "t" (text), "b" (start) and "d" (duration, seconds).
// Releases of sherpa-onnx before March 2026 print to standard error, which must be redirected.
func JSON(t *asr.Transcript, line string) {
	var v struct {
		Text      *string `json:"text"`
		Utterance *string `json:"t"`
		Start     float64 `json:"b"`
		Duration  float64 `json:"d"`
		Words     []struct {
			Text     string  `json:"t"`
			Start    float64 `json:"b"`
			Duration float64 `json:"d"`
		} `json:"w"`
	}
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &v) != nil {
		return
	}
	switch {
	case v.Utterance != nil:
		t.Segments = append(t.Segments, asr.Segment{
			Start: seconds(v.Start), End: seconds(v.Start + v.Duration), Text: strings.TrimSpace(*v.Utterance),
		})
		for _, w := range v.Words {
			addWord(t, w.Text, seconds(w.Start), seconds(w.Start+w.Duration))
		}
	case v.Text != nil:
		t.Text = strings.TrimSpace(*v.Text)
	}
}

// maxSeconds is more than the length of any recording.
const maxSeconds = 1e6

// span returns the sum of the numbers in text, each in units of so many seconds; 0 for too much.
func span(text []string, units ...float64) time.Duration {
	var sum float64
	for i, unit := range units {
		n, _ := strconv.ParseFloat(text[i], 64) // too many digits give infinity
		sum += n * unit
	}
	return seconds(sum)
}

// seconds returns n seconds in milliseconds; 0 for what is not a time in a recording.
func seconds(n float64) time.Duration {
	if !(n >= 0 && n <= maxSeconds) {
		return 0
	}
	return time.Duration(math.Round(n*1000)) * time.Millisecond
}
