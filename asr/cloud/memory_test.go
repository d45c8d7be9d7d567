package cloud_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/cloud"
)

// Twice the largest recording that the interface takes. Not parallel: it measures what the whole process allocates.
func TestTwoHundredMegabytesThroughFlashTakeUnderTwoOfMemory(t *testing.T) {
	const size = 100 << 20
	cfg := account(nil, nil, cloud.Flash)
	cfg.FlashURL = asrtest.Drain(t, `{"code":0,"flash_result":[{"text":"long"}]}`)
	rec := connect(t, cfg)
	for name, audio := range map[string]asr.Audio{"file": asrtest.LargeFile(t, size), "stream": asrtest.Endless(size)} {
		asrtest.RequireLittleMemory(t, 2<<20, func() {
			for range 2 {
				got, err := rec.Recognize(t.Context(), audio)
				require.NoError(t, err, name)
				require.Equal(t, "long", got.Text)
			}
		})
	}
}
