package asrhttp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrhttp"
)

// TestMain lets this program be the process of TestRecordingsOfAKilledProcessAreDeleted.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LESSONKIT_TEST_SERVE"); dir != "" {
		serveUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// serveUntilKilled is what another process does in the test. It prints a line when the recording
// has arrived.
func serveUntilKilled(dir string) {
	h, err := asrhttp.New(asrhttp.Config{Dir: dir, Recognizer: recognizer{
		f: func(context.Context, asr.Audio) (asr.Transcript, error) {
			fmt.Println("stored")
			time.Sleep(time.Hour)
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
	if runtime.GOOS == "windows" {
		t.Skip("the recordings of living processes cannot be told from those of dead ones")
	}
	dir := t.TempDir()
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), "LESSONKIT_TEST_SERVE="+dir)
	output, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	_, err = io.ReadFull(output, make([]byte, len("stored\n")))
	require.NoError(t, err)
	recordings := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "*", "audio"))
		require.NoError(t, err)
		return found
	}
	require.Len(t, recordings(), 1)

	serve(t, asrhttp.Config{Dir: dir, Recognizer: recognizer{}})
	require.Len(t, recordings(), 1, "the process lives")
	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	serve(t, asrhttp.Config{Dir: dir, Recognizer: recognizer{}})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
