package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"lessonkit.example/asr"
)

// measuredRecognizer counts what a recognizer has done. The quotient of the first two rates is its
// speed: seconds of audio per second.
type measuredRecognizer struct {
	asr.Recognizer
	audio, work, silent prometheus.Counter
	wait                prometheus.Histogram // from the upload of a recording to its text, in seconds
}

// silentAudio is the shortest recording whose empty text is counted.
const silentAudio = 2 * time.Second

func newMeasuredRecognizer(r asr.Recognizer, provider string) measuredRecognizer {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Name: name, Help: help, ConstLabels: prometheus.Labels{"provider": provider},
		})
	}
	return measuredRecognizer{
		Recognizer: r,
		audio:      counter("speech_audio_seconds_total", "Duration of the recordings that were recognised."),
		work:       counter("speech_recognition_seconds_total", "Time that their recognition took."),
		silent: counter("speech_silent_recordings_total",
			"Recordings of more than two seconds in which no speech was recognised."),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "speech_wait_seconds", Help: "Time from the upload of a recording to its text.",
			ConstLabels: prometheus.Labels{"provider": provider},
			Buckets:     []float64{1, 2, 5, 10, 30, 60, 2 * 60, 5 * 60, 15 * 60, 60 * 60, 4 * 60 * 60, 24 * 60 * 60},
		}),
	}
}

// Recognize implements asr.Recognizer.
func (m measuredRecognizer) Recognize(ctx context.Context, a asr.Audio) (asr.Transcript, error) {
	started := time.Now()
	t, err := m.Recognizer.Recognize(ctx, a)
	if err == nil {
		m.audio.Add(t.Duration.Seconds())
		m.work.Add(time.Since(started).Seconds())
	}
	if err == nil && t.Text == "" && t.Duration > silentAudio {
		m.silent.Inc()
	}
	return t, err
}

// collectors returns the metrics.
func (m measuredRecognizer) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.audio, m.work, m.silent, m.wait}
}
