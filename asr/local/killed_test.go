package local_test

import (
	"bufio"
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

const killedEnv = "LESSONKIT_TEST_KILLED"

// TestMain lets this program be the process of TestRecordingsOfAKilledProcessAreDeleted.
func TestMain(m *testing.M) {
	if os.Getenv(killedEnv) != "" {
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
	fmt.Println("ready")
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
		t.Skip("the directories of living processes cannot be told from those of dead ones")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env, other.Stderr = append(os.Environ(), killedEnv+"=1"), os.Stderr
	output, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	requireRecording := func(when string) {
		found, err := filepath.Glob(filepath.Join(dir, "*", "input"))
		require.NoError(t, err)
		require.Len(t, found, 1, when)
	}
	requireRecording("before")
	connect(t, converting())
	requireRecording("the process lives")
	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	connect(t, converting())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
