package local_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// encoded returns two seconds of audio in a file that ffmpeg writes, or skips the test.
func encoded(t *testing.T, name string) asr.Audio {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed (Debian: apt-get install ffmpeg)")
	}
	wav := filepath.Join(t.TempDir(), "in.wav")
	require.NoError(t, os.WriteFile(wav, asrtest.WAV(2*time.Second), 0o600))
	return made(t, name, "-i", wav)
}

// made returns a file that ffmpeg makes.
func made(t *testing.T, name string, of ...string) asr.Audio {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args := append(append([]string{"-v", "error", "-nostdin"}, of...), path)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", args...).CombinedOutput()
	require.NoError(t, err, string(out))
	audio, err := asr.FromFile(path)
	require.NoError(t, err)
	return audio
}

func TestWhisperWithoutConvertIsMisconfigured(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.WhisperCPP)
	rec := connect(t, local.Config{URL: s.URL})
	_, err := rec.Recognize(t.Context(), encoded(t, "a.m4a"))
	require.ErrorIs(t, err, asr.ErrMisconfigured, "the audio waits")
	require.ErrorContains(t, err, "start it with --convert")
	require.Contains(t, rec.Check(t.Context()).Reason, "whisper.cpp does not decode m4a by itself")
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", asrtest.Damaged()))
	require.ErrorIs(t, err, asr.ErrUnusableAudio, "a WAV file that it refuses is damaged")
}

func TestRecordingsAreConvertedForServersThatCannot(t *testing.T) {
	t.Parallel()
	audio := encoded(t, "a.m4a")
	s := asrtest.NewServer(t, asrtest.WhisperCPP)
	rec := connect(t, local.Config{URL: s.URL, FFmpeg: "ffmpeg"})
	got, err := rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Contains(t, got.Text, "heard")
	require.InDelta(t, 2, got.Duration.Seconds(), 0.1)
	require.Equal(t, "audio/wav", s.Requests()[0].FileType)
	_, err = local.New(local.Config{URL: s.URL, FFmpeg: "no-such-program"})
	require.ErrorContains(t, err, "no-such-program")
}

// TestOwnersOfRecordingsReadOurWords and not those of ffmpeg.
func TestOwnersOfRecordingsReadOurWords(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.WhisperCPP)
	rec := connect(t, local.Config{URL: s.URL, FFmpeg: "ffmpeg"})
	whole := encoded(t, "a.m4a")
	video := made(t, "a.mp4", "-f", "lavfi", "-i", "color=s=16x16:d=1")
	whole.Size /= 2
	for says, audio := range map[string]asr.Audio{
		"it contains no sound": video, "it is incomplete: its end is missing": whole,
	} {
		_, err := rec.Recognize(t.Context(), audio)
		require.ErrorIs(t, err, asr.ErrUnusableAudio)
		public := err.(*asr.Error).PublicText()
		require.Equal(t, "the audio cannot be used: "+says, public)
	}
}

// A recording in a language that the model does not know is not sent: some servers answer an empty
// text then.
func TestRecordingsWaitForALanguageThatTheServerListsForTheModel(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"model of the list": "?language=xx", "configured model": "?language=xx&model=m",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			var languages atomic.Value
			languages.Store(`["en-US","zh"]`)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/models" {
					_, _ = fmt.Fprintf(w, `{"data":[{"id":"m","language":%s}]}`, languages.Load())
				}
				if r.Method == http.MethodPost {
					sent.Add(1)
					_, _ = w.Write([]byte(`{"text":"x"}`))
				}
			}))
			defer s.Close()
			rec := connect(t, local.Config{URL: s.URL + query})
			audio := asr.FromBytes("a", asrtest.WAV(time.Second))
			_, err := rec.Recognize(t.Context(), audio)
			require.ErrorIs(t, err, asr.ErrMisconfigured)
			require.False(t, err.(*asr.Error).Permanent(), "the audio waits")
			const says = `the model does not know the language "xx"; it knows en-US, zh`
			require.ErrorContains(t, err, says)
			require.Zero(t, sent.Load())
			require.Equal(t, says, rec.Status(t.Context()).Reason)
			require.Equal(t, says, connect(t, local.Config{URL: s.URL + query}).Check(t.Context()).Reason)

			require.Equal(t, `the recogniser does not know the language "xx"`, err.(*asr.Error).PublicText())

			audio.Language = "en-GB"
			_, err = rec.Recognize(t.Context(), audio)
			require.NoError(t, err, "the language of the recording has priority")
			audio.Language = "yy"
			_, err = rec.Recognize(t.Context(), audio)
			require.ErrorContains(t, err, `does not know the language "yy"`)
			require.True(t, rec.Status(t.Context()).Available, "a recording's own language is not the server's fault")
			audio.Language = ""
			languages.Store(`["en","xx"]`)
			_, err = rec.Recognize(t.Context(), audio)
			require.NoError(t, err, "the list is read again")
			languages.Store(`"en"`)
			_, err = connect(t, local.Config{URL: s.URL + query}).Recognize(t.Context(), audio)
			require.NoError(t, err, "JSON of another form lists none")
		})
	}
}

func TestMarkersAndRepeatedPrefixesAreDropped(t *testing.T) {
	t.Parallel()
	rec := connect(t, local.Config{URL: fixed(t, 200, `{"text":" [BLANK_AUDIO]\n (music)\n well done\n"}`)})
	got, err := recognize(t, rec)
	require.NoError(t, err)
	require.Equal(t, "well done", got.Text)
	rec = connect(t, local.Config{URL: fixed(t, 400, `{"error":"the audio cannot be used: it is empty"}`)})
	_, err = recognize(t, rec)
	require.EqualError(t, err, "recognise (local): the audio cannot be used: it is empty (HTTP 400)")
}
