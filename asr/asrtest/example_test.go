package asrtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// A program's own test against a server that goes wrong.
func ExampleNewServer() {
	test := func(t *testing.T) {
		server := asrtest.NewServer(t, asrtest.WhisperCPP)
		server.SetFault(asrtest.Busy)
		rec, err := local.New(local.Config{URL: server.URL})
		require.NoError(t, err)
		_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", asrtest.WAV(time.Second)))
		require.ErrorIs(t, err, asr.ErrUnavailable)
	}
	_ = test
}

func TestExampleHolds(t *testing.T) {
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
	require.Equal(t, "POST /v1/audio/transcriptions", server.Paths()[0])

	server.SetFault(asrtest.Busy)
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", audio))
	require.ErrorIs(t, err, asr.ErrUnavailable)
}
