package local_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/local"
)

// TestMain lets this program be the process of TestRecordingsOfAKilledProcessAreDeleted.
func TestMain(m *testing.M) {
	if os.Getenv("LESSONKIT_TEST_CONVERT") != "" {
		convertUntilKilled()
	}
	os.Exit(m.Run())
}

// converting configures a recognizer whose converter is never reached.
func converting() local.Config {
	return local.Config{URL: "http://host", FFmpeg: os.Args[0]}
}

// stalled prints a line and never returns.
type stalled struct{}

func (stalled) Read([]byte) (int, error) {
	fmt.Println("stored")
	time.Sleep(time.Hour)
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
	if runtime.GOOS == "windows" {
		t.Skip("the recordings of living processes cannot be told from those of dead ones")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), "LESSONKIT_TEST_CONVERT=1")
	output, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	_, err = io.ReadFull(output, make([]byte, len("stored\n")))
	require.NoError(t, err)
	recordings := func() []string {
		found, err := filepath.Glob(filepath.Join(tmp, "*", "input"))
		require.NoError(t, err)
		return found
	}
	require.Len(t, recordings(), 1)

	connect(t, converting())
	require.Len(t, recordings(), 1, "the process lives")
	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	connect(t, converting())
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}
