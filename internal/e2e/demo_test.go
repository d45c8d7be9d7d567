//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDemoSavesRecognisedSpeech(t *testing.T) {
	t.Parallel()
	needSpeech(t)
	p := start(t, "feedback-server", []string{"HTTP_ADDR=127.0.0.1:0"}, "demo", "-once", "-data", t.TempDir())
	<-p.done
	require.NoError(t, p.err, p.log)
	for _, said := range []string{"she finished the picture with great care",
		"we learned how to mix blue and yellow"} {
		require.Contains(t, strings.ToLower(p.log.String()), said)
	}
}

// Without a recogniser the demo keeps the audio; with one, it continues with the same data
// directory.
func TestDemoWithoutRecogniserKeepsTheAudio(t *testing.T) {
	t.Parallel()
	data, empty := t.TempDir(), t.TempDir()
	p := start(t, "feedback-server", []string{"HTTP_ADDR=127.0.0.1:0", "PATH=" + empty}, "demo", "-once", "-data",
		data)
	<-p.done
	require.Error(t, p.err)
	require.Contains(t, p.log.String(), "stored and queued")
	require.Contains(t, p.log.String(), "pocketsphinx", "names what is missing")
	kept, err := filepath.Glob(filepath.Join(data, "audio", "*", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, kept)

	needSpeech(t)
	p = start(t, "feedback-server", []string{"HTTP_ADDR=127.0.0.1:0"}, "demo", "-once", "-data", data)
	<-p.done
	require.NoError(t, p.err, p.log)
}

func TestDemoWithOwnRecording(t *testing.T) {
	t.Parallel()
	needSpeech(t)
	own, err := filepath.Abs("../../examples/internal/demo/speech/lesson1-segment1.mp3")
	require.NoError(t, err)
	p := start(t, "feedback-server", []string{"HTTP_ADDR=127.0.0.1:0"}, "demo", "-once", "-data", t.TempDir(),
		"-audio", own)
	<-p.done
	require.NoError(t, p.err, p.log)
	require.Contains(t, strings.ToLower(p.log.String()), "she finished the picture with great care")

	missing := start(t, "feedback-server", nil, "demo", "-once", "-data", t.TempDir(), "-audio", "nowhere.mp3")
	<-missing.done
	require.Error(t, missing.err)
	require.Contains(t, missing.log.String(), "nowhere.mp3")
}

// demo.sh passes its arguments on.
func TestDemoScriptPassesArguments(t *testing.T) {
	t.Parallel()
	needSpeech(t)
	cmd := exec.CommandContext(t.Context(), "sh", "../../examples/demo.sh", "-nonsense")
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "nonsense")
}
