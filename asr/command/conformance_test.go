package command_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/command"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	needs(t, "ffmpeg")
	asrtest.Run(t, asrtest.Target{
		New: func(t testing.TB) asr.Recognizer {
			rec, err := command.New(command.Config{
				// The text is the size of the converted file.
				Args: []string{"sh", "-c", "echo heard $(wc -c <$0)", "{input}"}, Dir: t.TempDir(), Concurrency: 2,
			})
			require.NoError(t, err)
			return rec
		},
		Audio: asrtest.WAV(2 * time.Second), Text: "heard 64044",
	})
}
