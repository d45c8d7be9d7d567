package command_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/command"
)

// needs skips the test where a program is not installed.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed (Debian: apt-get install pocketsphinx pocketsphinx-en-us ffmpeg flite)", p)
		}
	}
}

// say synthesises speech.
func say(t *testing.T, text string) string {
	t.Helper()
	needs(t, "flite")
	path := filepath.Join(t.TempDir(), "speech.wav")
	require.NoError(t, exec.CommandContext(t.Context(), "flite", "-voice", "slt", "-t", text, "-o", path).Run())
	return path
}

func TestPocketSphinxRecognisesSpeech(t *testing.T) {
	t.Parallel()
	needs(t, "pocketsphinx_continuous", "ffmpeg")
	const sentence = "please practice the second page before the next lesson"
	audio, err := asr.FromFile(say(t, sentence))
	require.NoError(t, err)
	dir := t.TempDir()
	cfg := command.PocketSphinx()
	cfg.Dir = dir
	rec, err := command.New(cfg)
	require.NoError(t, err)

	got, err := rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, sentence, got.Text)
	require.Equal(t, "pocketsphinx-en-us", got.Model)
	require.InDelta(t, 3.66, got.Duration.Seconds(), 0.1)
	require.Len(t, got.Segments, 1)
	require.Equal(t, sentence, got.Segments[0].Text)
	require.InDelta(t, 3.5, got.Segments[0].End.Seconds(), 0.4)
	require.True(t, rec.Status(t.Context()).Available)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "the temporary directory is removed")

	cfg.Args = append(cfg.Args, "-hmm", "/none")
	rec, err = command.New(cfg)
	require.NoError(t, err)
	_, err = rec.Recognize(t.Context(), audio)
	require.ErrorContains(t, err, "Folder '/none' does not contain acoustic model definition")
}

func TestMissingProgramsAndPackagesAreNamed(t *testing.T) {
	t.Parallel()
	cfg := command.PocketSphinx()
	cfg.Args = append([]string{"no-such-recogniser"}, cfg.Args[1:]...)
	cfg.FFmpeg = "no-such-ffmpeg"
	_, err := command.New(cfg)
	require.EqualError(t, err, "missing for speech recognition: no-such-recogniser, no-such-ffmpeg; "+
		"on Debian: apt-get install --no-install-recommends pocketsphinx pocketsphinx-en-us ffmpeg")

	_, err = command.New(command.Config{Args: []string{"sh", "-c", "true"}})
	require.ErrorContains(t, err, "{input}")
}

// script returns a recogniser that runs a shell script with the WAV file as its first argument.
func script(t *testing.T, text string, change func(*command.Config)) *command.Recognizer {
	t.Helper()
	needs(t, "ffmpeg")
	cfg := command.Config{
		Args: []string{"sh", "-c", text, "recogniser", "{input}", "{language}"}, Dir: t.TempDir(),
	}
	if change != nil {
		change(&cfg)
	}
	rec, err := command.New(cfg)
	require.NoError(t, err)
	return rec
}

func TestBadAudioIsUnusable(t *testing.T) {
	t.Parallel()
	rec := script(t, "echo heard", nil)
	for name, c := range map[string]struct{ data, says string }{
		"playlist": {"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "not audio of a known format"},
		"SILK":     {"\x02#!SILK_V3\x0c\x00abcdefghijkl", "set the recorder to mp3, aac or wav"},
		"damaged":  {"RIFF\xff\xff\xff\x00WAVEfmt \x00\x01 damaged", "it is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rec.Recognize(t.Context(), asr.FromBytes(name, []byte(c.data)))
			require.ErrorIs(t, err, asr.ErrUnusableAudio)
			require.ErrorContains(t, err, c.says)
			e, _ := errors.AsType[*asr.Error](err)
			require.True(t, e.Permanent())
			require.Zero(t, e.RetryAfter())
			require.NotContains(t, err.Error(), t.TempDir())
		})
	}
}

func TestProgramGetsSixteenKilohertzMono(t *testing.T) {
	t.Parallel()
	needs(t, "od")
	rec := script(t, `set -- "$2" $(od -An -j22 -N6 -tu2 $1); echo $2 $3 $4 $1`, nil)
	audio := asr.FromBytes("a.wav", wavOf(time.Second))
	audio.Language = "zh-CN"
	got, err := rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, "1 16000 0 zh", got.Text)
	require.Equal(t, time.Second, got.Duration)
	require.Equal(t, "zh-CN", got.Language)

	audio.Language = "-o/etc/passwd"
	got, err = rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, "1 16000 0 auto", got.Text, "only a language code is passed on")
}

func TestCancelKillsTheProcessGroup(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", fifo).Run())
	// A child of the program holds the write end open: reading reaches the end only when both are
	// dead.
	rec := script(t, `sleep 1000 >`+fifo+` & wait`, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := rec.Recognize(ctx, asr.FromBytes("a.wav", wavOf(time.Second)))
		done <- err
	}()
	f, err := os.Open(fifo) // returns once the child has opened it
	require.NoError(t, err)
	defer f.Close()
	cancel()
	n, _ := f.Read(make([]byte, 1))
	require.Zero(t, n)
	err = <-done
	require.ErrorIs(t, err, context.Canceled)
	_, ok := errors.AsType[*asr.Error](err)
	require.False(t, ok, "a cancellation is not a failure of the recogniser")
}

func TestChildThatOutlivesTheProgramIsKilled(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", fifo).Run())
	// The child holds the program's output and the write end open.
	rec := script(t, `echo heard; sleep 1000 3>`+fifo+` &`, nil)
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		got, err := rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
		done <- result{got.Text, err}
	}()
	f, err := os.Open(fifo)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, result{"heard", nil}, <-done)
	n, _ := f.Read(make([]byte, 1))
	require.Zero(t, n, "the child is killed")
}

func TestTimeoutCountsAnAttempt(t *testing.T) {
	t.Parallel()
	rec := script(t, "sleep 1000", func(c *command.Config) { c.Timeout = 500 * time.Millisecond })
	_, err := rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.ErrorContains(t, err, "no result within 500ms")
	e, ok := errors.AsType[*asr.Error](err)
	require.True(t, ok)
	require.False(t, e.Permanent())
	require.Zero(t, e.RetryAfter())
}

// A client of a server may wait for this status and never send the recording that would restore it.
func TestAFailureMakesTheProgramsUnavailableForAWhileOnly(t *testing.T) {
	t.Parallel()
	needs(t, "ffmpeg")
	synctest.Test(t, func(t *testing.T) {
		rec, err := command.New(command.Config{
			Args: []string{"sh", "{input}"}, Dir: filepath.Join(t.TempDir(), "missing"),
		})
		require.NoError(t, err)
		_, err = rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
		require.ErrorIs(t, err, asr.ErrUnavailable)
		require.False(t, rec.Status(t.Context()).Available)
		time.Sleep(time.Minute)
		require.False(t, rec.Status(t.Context()).Available)
		time.Sleep(2 * time.Minute)
		status := rec.Status(t.Context())
		require.True(t, status.Available)
		require.Equal(t, "not tried since: cannot write temporary files", status.Reason)
	})
}

// The program accepts the arguments that whisper-cli does.
func TestWhisperPresetRunsWhisperCLI(t *testing.T) {
	t.Parallel()
	needs(t, "ffmpeg")
	dir := t.TempDir()
	model, program := filepath.Join(dir, "ggml-base.bin"), filepath.Join(dir, "whisper-cli")
	_, err := command.New(command.Whisper(model))
	require.ErrorContains(t, err, model, "the missing model is named")
	for _, directory := range []string{dir, ""} { // "" is the current one
		path, err := filepath.Abs(directory)
		require.NoError(t, err)
		_, err = command.New(command.Whisper(directory))
		require.ErrorContains(t, err, path)
	}
	require.NoError(t, os.WriteFile(model, nil, 0o600))
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+
		`test "$1 $2 $3 $5 $6 $7 $8 $9" = "-m `+model+` -f -l zh --prompt Ming -np" && test -s "$4" || exit 3`+"\n"+
		"echo '[00:00:00.000 --> 00:00:00.500]   今天'\n"+
		"echo '[00:00:00.500 --> 00:00:01.000]   练习'\n"), 0o700))
	cfg := command.Whisper(model)
	cfg.Args[0] = program
	rec, err := command.New(cfg)
	require.NoError(t, err)
	audio := asr.FromBytes("a.wav", wavOf(time.Second))
	audio.Language, audio.Prompt = "zh", "-- Ming"
	got, err := rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, asr.Transcript{
		Text: "今天练习", Language: "zh", Duration: time.Second, Model: "ggml-base",
		Segments: []asr.Segment{
			{End: 500 * time.Millisecond, Text: "今天"},
			{Start: 500 * time.Millisecond, End: time.Second, Text: "练习"},
		},
	}, got)
}

// Programs run in another directory.
func TestRelativePathsAreThoseOfThisProcess(t *testing.T) {
	needs(t, "ffmpeg")
	ffmpeg, err := exec.LookPath("ffmpeg")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Symlink(ffmpeg, "converter"))
	require.NoError(t, os.WriteFile("whisper-cli", []byte("#!/bin/sh\ntest -e \"$2\" && echo heard\n"), 0o700))
	require.NoError(t, os.WriteFile("ggml-base.bin", nil, 0o600))
	require.NoError(t, os.Mkdir("tmp", 0o700))
	cfg := command.Whisper("ggml-base.bin")
	cfg.Args[0], cfg.FFmpeg, cfg.Dir = "./whisper-cli", "./converter", "tmp"
	rec, err := command.New(cfg)
	require.NoError(t, err)
	got, err := rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.NoError(t, err)
	require.Equal(t, "heard", got.Text)
}

// A prompt that a program does not get has no echo.
func TestTextOfThePromptStaysWhereTheProgramGetsNone(t *testing.T) {
	t.Parallel()
	audio := asr.FromBytes("a.wav", wavOf(time.Second))
	audio.Prompt = "now the second page, and now the second page again"
	got, err := script(t, "echo now the second page", nil).Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, "now the second page", got.Text)
}

func TestFullDiskIsNotTheFaultOfTheRecording(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"No space left on device", "Disk quota exceeded"} {
		full := filepath.Join(t.TempDir(), "ffmpeg")
		require.NoError(t, os.WriteFile(full, []byte("#!/bin/sh\necho '"+says+"' >&2\nexit 228\n"), 0o700))
		rec := script(t, "", func(c *command.Config) { c.FFmpeg = full })
		_, err := rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
		require.ErrorIs(t, err, asr.ErrUnavailable, says)
		require.ErrorContains(t, err, "the conversion failed: "+says)
		var e *asr.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, 10*time.Minute, e.RetryAfter(), "or it would fill the disk at once again")
	}
}

// wavOf returns silence at 8 kHz.
func wavOf(d time.Duration) []byte {
	pcm := audiofile.PCM{Rate: 8000, Channels: 1}
	size := int64(d.Seconds() * 8000 * 2)
	return append(pcm.Header(size), make([]byte, size)...)
}
