package cloud_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/cloud"
)

// encoded returns silence in a file that ffmpeg writes, or skips the test.
func encoded(t *testing.T, name string, seconds int) asr.Audio {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed (Debian: apt-get install ffmpeg)")
	}
	path := filepath.Join(t.TempDir(), name)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi",
		"-i", "anullsrc=r=16000:cl=mono", "-t", strconv.Itoa(seconds), path).CombinedOutput()
	require.NoError(t, err, string(out))
	audio, err := asr.FromFile(path)
	require.NoError(t, err)
	return audio
}

// What browsers without AAC record is converted for every interface, what an interface takes is
// not, and nothing is left on the disk.
func TestRecordingsThatAnInterfaceDoesNotTakeAreConverted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, c := range []struct {
		name      string
		mode      cloud.Mode
		converted bool
	}{
		{"a.webm", cloud.Flash, true},
		{"a.mka", cloud.Flash, true},
		{"a.caf", cloud.Flash, true},
		{"a.aiff", cloud.Flash, true},
		{"a.oga", cloud.Flash, true}, // FLAC in Ogg
		{"a.m4a", cloud.Flash, false},
		{"a.webm", cloud.Task, true},
		{"a.flac", cloud.Task, false},
	} {
		flash, api := newFlash(t), newAPI(t)
		audio := encoded(t, c.name, 2)
		cfg := account(flash, api, c.mode)
		cfg.FFmpeg = "ffmpeg"
		for range 2 {
			got, err := connect(t, cfg).Recognize(t.Context(), audio)
			require.NoError(t, err, c)
			require.NotEmpty(t, got.Text)
			sentAsItIs := strings.Contains(got.Text, "heard "+strconv.FormatInt(audio.Size, 10)+" bytes")
			require.Equal(t, !c.converted, sentAsItIs, c)
			if c.mode == cloud.Flash && c.converted {
				require.Equal(t, "wav", flash.Requests()[0].Fields["voice_format"], c)
			}
			flash.SetFault(flashCodeOnce(5002)) // so that it is opened twice
			api.SetFault(taskFailsOnce)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "lessonkit-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWithoutAConverterRecordingsWaitAndTheErrorSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	flash, api := newFlash(t), newAPI(t)
	audio := encoded(t, "a.webm", 2)
	for _, mode := range []cloud.Mode{cloud.Flash, cloud.Task} {
		_, err := connect(t, account(flash, api, mode)).Recognize(t.Context(), audio)
		require.ErrorIs(t, err, asr.ErrMisconfigured)
		require.False(t, err.(*asr.Error).Permanent())
		require.ErrorContains(t, err, "does not take webm")
		require.ErrorContains(t, err, "install ffmpeg")
	}
	silk := asr.FromBytes("a.silk", append([]byte("#!SILK_V3"), make([]byte, 500)...))
	_, err := connect(t, account(flash, api, cloud.Task)).Recognize(t.Context(), silk)
	require.ErrorIs(t, err, asr.ErrUnusableAudio, "a converter would not help")
	require.Empty(t, flash.Requests())
	require.Empty(t, api.Requests())
	_, err = cloud.New(cloud.Config{SecretID: "a", SecretKey: "b", Mode: cloud.Task, FFmpeg: "no-such-program"})
	require.ErrorContains(t, err, "cloud recogniser: the converter")
	require.ErrorContains(t, err, "no-such-program")
}

func TestLimitsAreThoseOfWhatIsSent(t *testing.T) {
	t.Parallel()
	api := newAPI(t)
	cfg := account(nil, api, cloud.Task)
	cfg.FFmpeg = "ffmpeg"
	_, err := connect(t, cfg).Recognize(t.Context(), encoded(t, "a.webm", 165))
	require.ErrorIs(t, err, asr.ErrUnusableAudio)
	require.ErrorContains(t, err, "as wav it is larger than the 5 MB")
	require.Empty(t, api.Requests())
}

// The result of a task is there without the recording.
func TestContinuedTaskIsNotConverted(t *testing.T) {
	t.Parallel()
	api := newAPI(t)
	cfg := account(nil, api, cloud.Flash)
	var row saved
	first := asr.FromBytes("a.flac", flac())
	first.SaveTask = row.save
	_, err := connect(t, cfg).Recognize(t.Context(), first)
	require.NoError(t, err)
	cfg.FFmpeg = os.Args[0] // converts nothing
	audio := encoded(t, "a.webm", 2)
	audio.Task = row.names[len(row.names)-1]
	require.False(t, pending(audio.Task))
	got, err := connect(t, cfg).Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.NotEmpty(t, got.Text)
}
