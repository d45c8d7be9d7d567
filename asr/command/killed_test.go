package command_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/command"
	"lessonkit.example/internal/tempdir/tempdirtest"
)

// sleeper configures a program that writes to a named pipe and then sleeps.
func sleeper(dir string) command.Config {
	return command.Config{
		Args: []string{"sh", "-c", `echo >"$0"; exec sleep 600`, dir + ".started", "{input}"}, Dir: dir,
	}
}

// recognizeUntilKilled is what another process does in the test.
func recognizeUntilKilled(dir string) {
	go func() {
		if _, err := os.ReadFile(dir + ".started"); err != nil {
			panic(err)
		}
		tempdirtest.Ready()
	}()
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
	needs(t, "mkfifo")
	dir := filepath.Join(t.TempDir(), "tmp")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, exec.Command("mkfifo", dir+".started").Run())
	tempdirtest.Swept(t, dir, "audio.wav", func() {
		_, err := command.New(sleeper(dir))
		require.NoError(t, err)
	})
}
