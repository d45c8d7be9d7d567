package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// Not parallel: it measures what the whole process allocates.
func TestTwoHundredMegabytesTakeUnderTwoOfMemory(t *testing.T) {
	const size = 200 << 20
	rec := connect(t, local.Config{URL: asrtest.Drain(t, `{"text":"long"}`) + "/v1/audio/transcriptions?model=m"})
	for name, audio := range map[string]asr.Audio{"file": asrtest.LargeFile(t, size), "stream": asrtest.Endless(size)} {
		asrtest.RequireLittleMemory(t, 2<<20, func() {
			got, err := rec.Recognize(t.Context(), audio)
			require.NoError(t, err, name)
			require.Equal(t, "long", got.Text)
		})
	}
}
