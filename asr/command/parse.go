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

// A Parser returns a function that is called with each line of a program's standard output, while the program runs, and fills the transcript.
// Text may be left empty where the segments hold it all.
type Parser func(t *asr.Transcript) (line func(string))

// Lines takes every line as text.
func Lines(t *asr.Transcript) func(string) {
	return func(line string) {
		t.Text = asr.JoinText(t.Text, line)
	}
}

var timedWord = regexp.MustCompile(`^(\S+) (\d+\.\d+) (\d+\.\d+) [\d.]+$`)

// TimedWords reads the output of pocketsphinx_continuous -time yes: a line for each utterance, followed by one for each of its words with its
// times. Each utterance becomes a segment.
func TimedWords(t *asr.Transcript) func(string) {
	return func(line string) {
		m := timedWord.FindStringSubmatch(line)
		if m == nil {
			if text := strings.TrimSpace(line); text != "" {
				t.Segments = append(t.Segments, asr.Segment{Text: text})
			}
			return
		}
		n := len(t.Segments)
		if n == 0 || strings.HasPrefix(m[1], "<") || strings.HasPrefix(m[1], "[") { // silence and noise
			return
		}
		s := &t.Segments[n-1]
		if s.End == 0 {
			s.Start = span(m[2:3], 1)
		}
		s.End = span(m[3:4], 1)
	}
}

var timedLine = regexp.MustCompile(`^\[(\d+):(\d+):(\d+\.\d+) --> (\d+):(\d+):(\d+\.\d+)\]\s*(.*)$`)

// TimedLines reads the output of whisper-cli: "[00:00:00.000 --> 00:00:02.500]   text". Lines without times are text.
func TimedLines(t *asr.Transcript) func(string) {
	return func(line string) {
		if strings.TrimSpace(line) == "" {
			return
		}
		m := timedLine.FindStringSubmatch(line)
		if m == nil {
			t.Segments = append(t.Segments, asr.Segment{Text: strings.TrimSpace(line)})
			return
		}
		t.Segments = append(t.Segments, asr.Segment{Start: span(m[1:4], 3600, 60, 1), End: span(m[4:7], 3600, 60, 1), Text: strings.TrimSpace(m[7])})
	}
}

// JSONLine takes the field "text" of the last line that is a JSON object with one, as sherpa-onnx-offline prints it among other lines.
func JSONLine(t *asr.Transcript) func(string) {
	return func(line string) {
		var v struct {
			Text *string `json:"text"`
		}
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &v) == nil && v.Text != nil {
			t.Text = strings.TrimSpace(*v.Text)
		}
	}
}

// longest is more than any recording lasts, in seconds: what says more only looks like a time and counts as 0.
const longest = 1e6

// span adds up what was written in digits, in units of so many seconds.
func span(text []string, units ...float64) time.Duration {
	var sum float64
	for i, unit := range units {
		n, _ := strconv.ParseFloat(text[i], 64) // too many digits give infinity
		sum += n * unit
	}
	if sum > longest {
		return 0
	}
	return time.Duration(math.Round(sum*1000)) * time.Millisecond
}
