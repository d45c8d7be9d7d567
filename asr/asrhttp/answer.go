package asrhttp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"lessonkit.example/asr"
)

// write answers in the requested format.
func (h *Handler) write(w http.ResponseWriter, f *form, t asr.Transcript) {
	t.Language = cmp.Or(t.Language, f.language)
	if len(f.ignored) > 0 {
		w.Header().Set("X-Ignored-Fields", strings.Join(f.ignored, ", "))
	}
	switch {
	case f.stream:
		writeStream(w, t)
	case f.format == "text":
		writeText(w, "text/plain", t.Text+"\n")
	case f.format == "srt":
		writeText(w, "application/x-subrip", subtitles(t, "", ','))
	case f.format == "vtt":
		writeText(w, "text/vtt", subtitles(t, "WEBVTT\n\n", '.'))
	case f.format == "verbose_json":
		writeJSON(w, http.StatusOK, verbose(f, t))
	default:
		writeJSON(w, http.StatusOK, map[string]any{"text": t.Text, "usage": usage(t)})
	}
}

func usage(t asr.Transcript) any {
	return map[string]any{"type": "duration", "seconds": int64((t.Duration + time.Second - 1) / time.Second)}
}

func writeText(w http.ResponseWriter, contentType, text string) {
	w.Header().Set("Content-Type", contentType+"; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, text)
}

// verbose returns the segments, unless only words were requested, and the words if they were.
func verbose(f *form, t asr.Transcript) any {
	type segment struct {
		ID    int     `json:"id"`
		Start float64 `json:"start"`
		End   float64 `json:"end"`
		Text  string  `json:"text"`

		AvgLogProb       float64 `json:"avg_logprob,omitzero"` // where the recogniser tells
		CompressionRatio float64 `json:"compression_ratio,omitzero"`
		NoSpeechProb     float64 `json:"no_speech_prob,omitzero"`
	}
	type word struct {
		Word  string  `json:"word"`
		Start float64 `json:"start"`
		End   float64 `json:"end"`
	}
	answer := map[string]any{
		"task": "transcribe", "language": t.Language, "duration": t.Duration.Seconds(), "text": t.Text,
	}
	if f.segments || !f.words {
		segments := make([]segment, len(t.Segments))
		for i, s := range t.Segments {
			segments[i] = segment{
				i, s.Start.Seconds(), s.End.Seconds(), s.Text, s.AvgLogProb, s.CompressionRatio, s.NoSpeechProb,
			}
		}
		answer["segments"] = segments
	}
	if f.words && (len(t.Words) > 0 || !f.segments) {
		words := make([]word, len(t.Words))
		for i, x := range t.Words {
			words[i] = word{x.Text, x.Start.Seconds(), x.End.Seconds()}
		}
		answer["words"] = words
	}
	return answer
}

// writeStream answers with the server-sent events of OpenAI: one with the text, because recognisers
// return it as a whole, and one that ends it.
func writeStream(w http.ResponseWriter, t asr.Transcript) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	send := func(event map[string]any) {
		data, _ := json.Marshal(event)              // cannot fail
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data) // fails only if the client has disconnected
	}
	if t.Text != "" {
		send(map[string]any{"type": "transcript.text.delta", "delta": t.Text})
	}
	send(map[string]any{"type": "transcript.text.done", "text": t.Text, "usage": usage(t)})
}

// subtitles returns the segments as SubRip or WebVTT, which differ in the head and in the decimal
// mark of times. Without segments the whole text is one.
func subtitles(t asr.Transcript, head string, mark rune) string {
	segments := t.Segments
	if len(segments) == 0 && t.Text != "" {
		segments = []asr.Segment{{End: t.Duration, Text: t.Text}}
	}
	var b strings.Builder
	b.WriteString(head)
	clock := func(d time.Duration) string {
		return fmt.Sprintf("%02d:%02d:%02d%c%03d", d/time.Hour, d/time.Minute%60, d/time.Second%60, mark,
			d/time.Millisecond%1000)
	}
	for i, s := range segments {
		if mark == ',' {
			fmt.Fprintln(&b, i+1)
		}
		text := strings.ReplaceAll(s.Text, "-->", "->") // ends the text in both formats
		fmt.Fprintf(&b, "%s --> %s\n%s\n\n", clock(s.Start), clock(s.End), text)
	}
	return b.String()
}
