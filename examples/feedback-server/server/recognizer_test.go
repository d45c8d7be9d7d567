package server_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackclient"
)

// TestWhisperServerTakesWhatPhonesAndBrowsersRecord, although it decodes neither by itself, without
// a setting. A recording that was cut off says so.
func TestWhisperServerTakesWhatPhonesAndBrowsersRecord(t *testing.T) {
	t.Parallel()
	installedProgram(t, "ffmpeg")
	recogniser := asrtest.NewServer(t, asrtest.WhisperCPP)
	c, _ := logged(t, recogniser.URL)
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

// TestCloudGetsWhatItTakes and not what some browsers and phones record, without a setting.
func TestCloudGetsWhatItTakes(t *testing.T) {
	t.Parallel()
	installedProgram(t, "ffmpeg")
	sent := make(chan []byte, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Data []byte }
		if json.NewDecoder(r.Body).Decode(&request) == nil && request.Data != nil {
			sent <- request.Data
		}
		_, _ = io.WriteString(w, `{"Response":{"Data":{"TaskId":1,"Status":2}}}`)
	}))
	t.Cleanup(api.Close)
	s := onSQLite(t, server.RoleAll, "ASR_PROVIDER", "cloud", "CLOUD_ASR_APP_ID", "1", "CLOUD_ASR_SECRET_ID", "a",
		"CLOUD_ASR_SECRET_KEY", "b", "CLOUD_ASR_MODE", "task", "CLOUD_ASR_API_URL", api.URL,
		"ASR_WORKER_CONCURRENCY", "2", "LOCAL_ASR_CONVERT", "false") // not of this recogniser
	c := feedbackclient.Development("http://"+serve(t, s), "someone")
	_, _, lesson := openLesson(t, c, "Someone")
	const webm = "../../../asr/audiofile/testdata/opus.webm"
	caf := filepath.Join(t.TempDir(), "a.caf")
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", webm, caf).CombinedOutput()
	require.NoError(t, err, string(out))
	for i, name := range []string{webm, caf} {
		audio, err := os.ReadFile(name)
		require.NoError(t, err)
		_, err = c.Upload(t.Context(), lesson.ID, i, filepath.Base(name), audio)
		require.NoError(t, err)
		select {
		case data := <-sent:
			require.Equal(t, "RIFF", string(data[:4]), name)
		case <-time.After(time.Minute):
			require.FailNow(t, "nothing was sent", name)
		}
	}
}
