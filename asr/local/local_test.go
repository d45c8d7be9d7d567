package local_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

const secret = "sk-very-secret"

func connect(t testing.TB, cfg local.Config) *local.Recognizer {
	t.Helper()
	rec, err := local.New(cfg)
	require.NoError(t, err)
	return rec
}

// recognize recognises one second of audio.
func recognize(t testing.TB, rec asr.Recognizer) (asr.Transcript, error) {
	t.Helper()
	return rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	damagedCounts := []asrtest.Dialect{
		asrtest.WhisperCPPConvert, asrtest.WhisperCPPOld, asrtest.FunASR, asrtest.FunASRCLI, asrtest.LocalAI,
		asrtest.FunASRRecognition,
	}
	for _, d := range asrtest.Dialects() {
		for name, segments := range map[string]bool{"text": false, "segments": true} {
			t.Run(string(d)+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := asrtest.NewServer(t, d)
				if d != asrtest.FunASRRuntime {
					s.SetKey(secret)
				}
				audio := asrtest.WAV(2 * time.Second)
				asrtest.Run(t, asrtest.Target{
					New: func(t testing.TB) asr.Recognizer {
						return connect(t, local.Config{URL: s.URL, APIKey: secret, Segments: segments, Concurrency: 2})
					},
					Audio: audio, Text: asrtest.Heard(audio), TextOf: asrtest.Heard,
					Secrets:        []string{secret},
					AcceptsDamaged: d == asrtest.FunASRRuntime,
					DamagedCounts:  slices.Contains(damagedCounts, d),
				})
			})
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, d := range asrtest.Dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			start := func(t testing.TB) *asrtest.Server { return asrtest.NewServer(t, d) }
			client := func(t testing.TB, url string, timeout time.Duration) asr.Recognizer {
				return connect(t, local.Config{URL: url, RequestTimeout: timeout})
			}
			asrtest.RunFaults(t, start, asrtest.Outcomes(d), client)
		})
	}
}
