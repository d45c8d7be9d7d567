package local_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

func TestModelIsSelectedFromTheList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, list, want string }{
		{"ready", `{"data":[{"id":"a","ready":false},{"id":"b","ready":true}]}`, "b"},
		{
			"by task", `{"data":[{"id":"tts","task":"text-to-speech"},
				{"id":"asr","task":"automatic-speech-recognition"}]}`, "asr",
		},
		{"by name", `{"data":[{"id":"llama-3"},{"id":"WhisperSpeech"},{"id":"Whisper-large"}]}`, "Whisper-large"},
		{"first, by name", `{"data":[{"id":"SenseVoiceSmall"},{"id":"whisper-1"}]}`, "SenseVoiceSmall"},
		{"first", `{"data":[{"id":"one"},{"id":"two"}]}`, "one"},
		{"empty", `{"data":[]}`, "whisper-1"},
		{"nonsense", `<html>`, "whisper-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got string
			mux := http.NewServeMux()
			mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(c.list))
			})
			mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
				got = r.FormValue("model")
				_, _ = w.Write([]byte(`{"text":""}`))
			})
			s := httptest.NewServer(mux)
			defer s.Close()
			tr, err := recognize(t, connect(t, local.Config{URL: s.URL}))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.want, tr.Model)
		})
	}
}

func TestChangeOfModelIsDiscovered(t *testing.T) {
	t.Parallel()
	for _, d := range []asrtest.Dialect{
		asrtest.OpenAI, asrtest.Speaches, asrtest.FunASR, asrtest.LocalAI, asrtest.VLLM,
	} {
		s := asrtest.NewServer(t, d)
		rec := connect(t, local.Config{URL: s.URL})
		_, err := recognize(t, rec)
		require.NoError(t, err)
		s.SetModels("large")
		got, err := recognize(t, rec)
		require.NoError(t, err, d)
		require.Equal(t, "large", got.Model)

		_, err = recognize(t, connect(t, local.Config{URL: s.URL, Model: "gone"}))
		require.ErrorIs(t, err, asr.ErrMisconfigured, "a configured model is not replaced")
	}
}

func TestChangeOfEndpointIsDiscovered(t *testing.T) {
	t.Parallel()
	path := "/v1/audio/transcriptions"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		if _, _, err := r.FormFile("file"); err != nil {
			http.Error(w, "no file", 400)
			return
		}
		_, _ = w.Write([]byte(`{"text":"x"}`))
	}))
	defer s.Close()
	rec := connect(t, local.Config{URL: s.URL, Model: "m"})
	for _, path = range []string{"/v1/audio/transcriptions", "/inference"} {
		_, err := recognize(t, rec)
		require.NoError(t, err)
	}
}

func TestDiscoveryInterpretsTheAnswerToAFormWithoutAudio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  error // nil: the endpoint exists
	}{
		{"400", 400, "no file", nil},
		{"400 without https", 400, "Client sent an HTTP request to an HTTPS server.\n", asr.ErrMisconfigured},
		{"500", 500, "", nil},
		{"200 with an error", 200, `{"error":"no 'file' field"}`, nil},
		{"401", 401, "", asr.ErrMisconfigured},
		{"403", 403, "", asr.ErrMisconfigured},
		{"302", 302, "", asr.ErrMisconfigured},
		{"502", 502, "", asr.ErrUnavailable},
		{"503", 503, "", asr.ErrUnavailable},
		{"404", 404, "", asr.ErrMisconfigured},
		{"405", 405, "", asr.ErrMisconfigured},
		{"501", 501, "", asr.ErrMisconfigured},
		{"a page for everything", 200, "<!DOCTYPE html>", asr.ErrMisconfigured},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, _, err := r.FormFile("file"); err == nil && c.class == nil {
					_, _ = w.Write([]byte(`{"text":"x"}`))
					return
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer s.Close()
			rec := connect(t, local.Config{URL: s.URL, Model: "m"})
			_, err := recognize(t, rec)
			if c.class == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.class)
			require.False(t, rec.Check(t.Context()).Available)
			if c.status == 404 {
				tried := []string{s.URL + "/v1/audio/transcriptions", s.URL + "/inference", s.URL + "/recognition"}
				require.ErrorContains(t, err, "tried "+strings.Join(tried, ", "))
			}
		})
	}
}
