package local_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// transport answers requests without a network.
type transport func(r *http.Request) string

func (answer transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(answer(r))),
	}, nil
}

// The list of a server that accepts the model by another name than it lists is not requested for
// each recording, but again after a while: the model may be listed then.
func TestListWithoutTheConfiguredModelIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		listed := `{"data": [{"id": "other"}]}`
		rec, err := local.New(local.Config{
			URL: "http://asr/v1/audio/transcriptions", Model: "m",
			Transport: transport(func(r *http.Request) string {
				if r.Method == http.MethodGet {
					lists++
					return listed
				}
				return `{"text": "hello"}`
			}),
		})
		require.NoError(t, err)
		audio := asr.FromBytes("a.wav", asrtest.WAV(time.Second))
		audio.Language = "en"
		recognize := func(want int) {
			t.Helper()
			for range 5 {
				_, err := rec.Recognize(t.Context(), audio)
				require.NoError(t, err)
			}
			require.Equal(t, want, lists)
		}
		recognize(1)
		time.Sleep(2 * time.Minute)
		recognize(2)
		time.Sleep(2 * time.Minute)
		listed = `{"data": [{"id": "m", "language": ["en"]}]}`
		recognize(3)
		time.Sleep(time.Hour)
		recognize(3)
	})
}
