package server_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/feedback"
)

// TestWhisperServerTakesWhatPhonesAndBrowsersRecord, although it decodes neither by itself, without
// a setting. A recording that was cut off says so.
func TestWhisperServerTakesWhatPhonesAndBrowsersRecord(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed (Debian: apt-get install ffmpeg)")
	}
	recogniser := asrtest.NewServer(t, asrtest.WhisperCPP)
	c, _, _ := logged(t, recogniser.URL)
	_, _, lesson := openLesson(t, c, "Someone")
	for i, name := range []string{"plain.m4a", "opus.webm"} {
		audio, err := os.ReadFile("../../../asr/audiofile/testdata/" + name)
		require.NoError(t, err)
		want := ""
		if at := bytes.Index(audio, []byte{0x44, 0x89, 0x88}); name == "opus.webm" { // the header's duration
			binary.BigEndian.PutUint64(audio[at+3:], math.Float64bits(15000))
			want = feedback.WarningCutOff
		}
		segment, err := c.Upload(t.Context(), lesson.ID, i, name, audio)
		require.NoError(t, err)
		segment = waitState(t, c, segment.ID, "transcribed")
		require.NotEmpty(t, segment.Text)
		require.NotEmpty(t, segment.Sentences)
		require.Equal(t, want, segment.WarningCode, segment.Warning)
		require.InDelta(t, 3000, segment.DurationMS, 200)
	}
}
