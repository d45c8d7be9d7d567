package command_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/command"
)

// sleeper configures a program that says it has started, by a file, and then sleeps.
func sleeper(dir string) command.Config {
	return command.Config{
		Args: []string{"sh", "-c", `touch "$0/started"; sleep 600`, dir, "{input}"}, Dir: filepath.Join(dir, "tmp"),
	}
}

// recognizeUntilKilled is what another process does in the test.
func recognizeUntilKilled(dir string) {
	rec, err := command.New(sleeper(dir))
	if err != nil {
		panic(err)
	}
	_, err = rec.Recognize(context.Background(), asr.FromBytes("a.wav", asrtest.WAV(time.Second)))
	panic(err)
}

func TestRecordingsOfAKilledProcessAreDeleted(t *testing.T) {
	t.Parallel()
	needs(t, "ffmpeg")
	if runtime.GOOS == "windows" {
		t.Skip("the recordings of living processes cannot be told from those of dead ones")
	}
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	require.NoError(t, os.Mkdir(tmp, 0o700))
	recordings := func() []string {
		found, err := filepath.Glob(filepath.Join(tmp, "*", "audio.wav"))
		require.NoError(t, err)
		return found
	}
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), "LESSONKIT_TEST_RECOGNIZE="+dir)
	require.NoError(t, other.Start())
	for _, err := os.Stat(filepath.Join(dir, "started")); err != nil; _, err = os.Stat(filepath.Join(dir, "started")) {
		require.NoError(t, t.Context().Err())
		time.Sleep(10 * time.Millisecond)
	}
	require.Len(t, recordings(), 1)

	_, err := command.New(sleeper(dir))
	require.NoError(t, err)
	require.Len(t, recordings(), 1, "the process lives")
	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	_, err = command.New(sleeper(dir))
	require.NoError(t, err)
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}
