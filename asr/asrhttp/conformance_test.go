package asrhttp_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrhttp"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// TestConformance runs the suite with a client of the handler.
func TestConformance(t *testing.T) {
	t.Parallel()
	hears := recognizer{
		status: asr.Status{Available: true, Model: "ear"},
		f: func(_ context.Context, a asr.Audio) (asr.Transcript, error) {
			r, err := a.Open()
			if err != nil {
				return asr.Transcript{}, err
			}
			defer r.Close()
			data, err := io.ReadAll(r)
			if err != nil {
				return asr.Transcript{}, err
			}
			if strings.Contains(string(data), "damaged") {
				return asr.Transcript{}, &asr.Error{Class: asr.ErrUnusableAudio, Message: "it is damaged"}
			}
			text := asrtest.Heard(data)
			return asr.Transcript{
				Text: text, Duration: time.Second, Segments: []asr.Segment{{End: time.Second, Text: text}},
			}, nil
		},
	}
	for name, segments := range map[string]bool{"text": false, "segments": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			audio := asrtest.WAV(2 * time.Second)
			url := serve(t, asrhttp.Config{Recognizer: hears})
			asrtest.Run(t, asrtest.Target{
				New: func(t testing.TB) asr.Recognizer {
					rec, err := local.New(local.Config{URL: url, Segments: segments, Concurrency: 4})
					require.NoError(t, err)
					return rec
				},
				Audio: audio, Text: asrtest.Heard(audio), TextOf: asrtest.Heard,
			})
		})
	}
}
