package asrhttp_test

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrhttp"
	"lessonkit.example/internal/tempdir/tempdirtest"
)

// TestMain lets this program be the process of TestRecordingsOfAKilledProcessAreDeleted.
func TestMain(m *testing.M) {
	if dir := os.Getenv(tempdirtest.Env); dir != "" {
		serveUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// serveUntilKilled is what another process does in the test.
func serveUntilKilled(dir string) {
	h, err := asrhttp.New(asrhttp.Config{Dir: dir, Recognizer: recognizer{
		f: func(context.Context, asr.Audio) (asr.Transcript, error) {
			tempdirtest.Ready()
			return asr.Transcript{}, nil
		},
	}})
	if err != nil {
		panic(err)
	}
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	part, _ := w.CreateFormFile("file", "a.wav")
	_, _ = part.Write(wav(time.Second))
	_ = w.Close()
	r := httptest.NewRequest(http.MethodPost, "/v1/audio/transcriptions", &buf)
	r.Header.Set("Content-Type", w.FormDataContentType())
	h.ServeHTTP(httptest.NewRecorder(), r)
	panic("answered")
}

func TestRecordingsOfAKilledProcessAreDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tempdirtest.Swept(t, dir, "audio", func() { serve(t, asrhttp.Config{Dir: dir, Recognizer: recognizer{}}) })
}
