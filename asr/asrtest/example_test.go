package asrtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// This is the body of a test function of a recogniser.
func Example() {
	var t *testing.T // the argument of the test function

	server := asrtest.NewServer(t, asrtest.OpenAI)
	audio := asrtest.WAV(2 * time.Second)
	asrtest.Run(t, asrtest.Target{
		New: func(t testing.TB) asr.Recognizer {
			rec, err := local.New(local.Config{URL: server.URL})
			require.NoError(t, err)
			return rec
		},
		Audio: audio, Text: asrtest.Heard(audio), TextOf: asrtest.Heard,
	})
}
