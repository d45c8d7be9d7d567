//go:build linux

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/internal/pgtest"
)

// The server needs no more than the address of a recogniser, of whichever kind.
func TestAnyRecogniserNeedsOnlyItsAddress(t *testing.T) {
	t.Parallel()
	for _, d := range asrtest.Dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			rec := asrtest.NewServer(t, d)
			s := newService(t, pgtest.URL(t), rec.URL)
			s.start(t)
			eventually(t, "speech is available", func() bool {
				h, err := s.client.Health(t.Context())
				return err == nil && h.SpeechAvailable
			})
			_, session, lesson := s.openLesson(t)
			audio := asrtest.WAV(2 * time.Second)
			_, err := s.client.Upload(t.Context(), lesson.ID, 0, "lesson.wav", audio)
			require.NoError(t, err)
			eventually(t, "it has text", func() bool {
				seg := s.lesson(t, session.ID).Segments[0]
				require.NotEqual(t, "failed", seg.State, seg.Error)
				return seg.State == "transcribed"
			})
			require.Equal(t, asrtest.Heard(audio), s.lesson(t, session.ID).Transcript)
			require.NoError(t, s.process.stop(t))
		})
	}
}
