package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// Three spoken sentences with a second of silence between them are three sentences, although the
// recogniser gives no punctuation.
func TestPausesEndSentencesOfARealRecogniser(t *testing.T) {
	t.Parallel()
	installedProgram(t, "ffmpeg")
	file := filepath.Join(t.TempDir(), "pauses.wav")
	const speech = "../../internal/demo/speech/lesson1-segment"
	out, err := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-i", speech+"0.mp3", "-i", speech+"1.mp3",
		"-i", speech+"2.mp3", "-filter_complex",
		"[0]apad=pad_dur=1[a];[1]apad=pad_dur=1[b];[a][b][2]concat=n=3:v=0:a=1",
		"-ar", "16000", "-ac", "1", file).CombinedOutput()
	require.NoError(t, err, string(out))
	audio, err := os.ReadFile(file)
	require.NoError(t, err)

	c, p := withStudent(t, recognizing(t), "anna")
	s := withLesson(t, c, p.ID)
	_, err = c.Upload(t.Context(), s.Lessons[0].ID, 0, "pauses.wav", audio)
	require.NoError(t, err)
	var segment feedbackclient.Segment
	require.Eventually(t, func() bool {
		s, err = c.Session(t.Context(), s.ID)
		require.NoError(t, err)
		segment = s.Lessons[0].Segments[0]
		return segment.State == "transcribed"
	}, timeout, 100*time.Millisecond)
	require.GreaterOrEqual(t, strings.Count(segment.Text, "."), 3, segment.Text)
	require.Regexp(t, `\. [A-Z]`, segment.Text)
	t.Log(segment.Text)
}
