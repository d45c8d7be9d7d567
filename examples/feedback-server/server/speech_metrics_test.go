package server

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/feedback"
)

// hears is a recognizer with answers of the test's choice.
type hears struct {
	asr.Recognizer
	answers []asr.Transcript
}

func (h *hears) Recognize(context.Context, asr.Audio) (asr.Transcript, error) {
	if len(h.answers) == 0 {
		return asr.Transcript{Duration: time.Hour}, errors.New("failed")
	}
	t := h.answers[0]
	h.answers = h.answers[1:]
	return t, nil
}

func TestSpeechIsMeasured(t *testing.T) {
	t.Parallel()
	m := newMeasuredRecognizer(&hears{answers: []asr.Transcript{
		{Text: "hello", Duration: 10 * time.Second}, {Duration: time.Second}, {Duration: 3 * time.Second},
	}}, "local")
	for range 3 {
		_, err := transcriber{m}.Transcribe(t.Context(), feedback.Audio{UploadedAt: time.Now().Add(-20 * time.Second)})
		require.NoError(t, err)
	}
	_, err := transcriber{m}.Transcribe(t.Context(), feedback.Audio{UploadedAt: time.Now().Add(-20 * time.Second)})
	require.Error(t, err)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.collectors()...)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), `speech_audio_seconds_total{provider="local"} 14`)
	require.Contains(t, w.Body.String(), `speech_silent_recordings_total{provider="local"} 1`)
	require.Contains(t, w.Body.String(), `speech_recognition_seconds_total{provider="local"}`)
	require.Contains(t, w.Body.String(), `speech_wait_seconds_bucket{provider="local",le="10"} 0`)
	require.Contains(t, w.Body.String(), `speech_wait_seconds_bucket{provider="local",le="30"} 3`)
	require.Contains(t, w.Body.String(), `speech_wait_seconds_count{provider="local"} 3`, "failures have no text")
}
