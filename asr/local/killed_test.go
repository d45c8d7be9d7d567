package local_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/local"
	"lessonkit.example/internal/tempdir/tempdirtest"
)

// TestMain lets this program be the process of TestRecordingsOfAKilledProcessAreDeleted.
func TestMain(m *testing.M) {
	if os.Getenv(tempdirtest.Env) != "" {
		convertUntilKilled()
	}
	os.Exit(m.Run())
}

// converting configures a recognizer whose converter is never reached.
func converting() local.Config {
	return local.Config{URL: "http://host", FFmpeg: os.Args[0]}
}

// stalled is a reader that never returns.
type stalled struct{}

func (stalled) Read([]byte) (int, error) {
	tempdirtest.Ready()
	return 0, io.ErrUnexpectedEOF
}

// convertUntilKilled is what another process does in the test.
func convertUntilKilled() {
	rec, err := local.New(converting())
	if err != nil {
		panic(err)
	}
	head := append([]byte("#!AMR\n"), make([]byte, audiofile.HeadSize-6)...)
	_, err = rec.Recognize(context.Background(), asr.Audio{
		Name: "a.amr", Size: audiofile.HeadSize + 10, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(head), stalled{})), nil
		},
	})
	panic(err)
}

func TestRecordingsOfAKilledProcessAreDeleted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	tempdirtest.Swept(t, dir, "input", func() { connect(t, converting()) })
}
