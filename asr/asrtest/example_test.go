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
func ExampleRun() {
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

// This is the body of a test function of a program that uses a recogniser.
func ExampleNewServer() {
	var t *testing.T // the argument of the test function

	server := asrtest.NewServer(t, asrtest.WhisperCPP)
	server.SetFault(asrtest.Busy)
	rec, err := local.New(local.Config{URL: server.URL})
	require.NoError(t, err)
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", asrtest.WAV(time.Second)))
	require.ErrorIs(t, err, asr.ErrUnavailable)
}

func TestServerReturnsWhatItReceives(t *testing.T) {
	t.Parallel()
	server := asrtest.NewServer(t, asrtest.WhisperCPP)
	rec, err := local.New(local.Config{URL: server.URL})
	require.NoError(t, err)
	audio := asrtest.WAV(time.Second)
	got, err := rec.Recognize(t.Context(), asr.FromBytes("a.wav", audio))
	require.NoError(t, err)
	require.Equal(t, asrtest.Heard(audio), got.Text)
	require.NotEqual(t, asrtest.Heard(audio), asrtest.Heard(audio[:len(audio)-1]))
	require.EqualValues(t, len(audio), server.Requests()[0].Size)
	require.Equal(t, "GET /health", server.Paths()[0])

	server.SetFault(asrtest.Busy)
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", audio))
	require.ErrorIs(t, err, asr.ErrUnavailable)
}
