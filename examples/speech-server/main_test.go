package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/command"
	"lessonkit.example/asr/local"
	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/internal/logtest"
	"lessonkit.example/internal/longtest"
)

// start runs the program as a server, and returns its address and a function that stops it.
func start(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var stderr logtest.Buffer
	done := make(chan error, 1)
	go func() { done <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), io.Discard, &stderr) }()
	serving := regexp.MustCompile(`url=(\S+)`)
	ready := func() bool { return serving.MatchString(stderr.String()) }
	require.Eventually(t, ready, time.Minute, 10*time.Millisecond)
	return serving.FindStringSubmatch(stderr.String())[1], func() {
		cancel()
		require.NoError(t, <-done)
	}
}

func TestServesAnyProgramAndStopsGracefully(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed (Debian: apt-get install ffmpeg)")
	}
	url, stop := start(t, "--", "sh", "-c", "echo $0", "{language}", "{input}")
	rec, err := local.New(local.Config{URL: url + "?language=zh"})
	require.NoError(t, err)
	got, err := rec.Recognize(t.Context(), asr.FromBytes("a.wav", asrtest.WAV(time.Second)))
	require.NoError(t, err)
	require.Equal(t, "zh", got.Text)
	stop()
	_, err = http.Get(url + "/health")
	require.Error(t, err)
}

// Of the time limits of the server and of its client, the shorter one is what the client reports.
func TestTheShorterTimeLimitIsReported(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed (Debian: apt-get install ffmpeg)")
	}
	for _, c := range []struct {
		name           string
		server, client time.Duration
		says           string
		class          error // nil: an ordinary failure of a server that is still there
	}{
		{"server", 10 * time.Second, 0, "the recogniser failed: no result within 10s (HTTP 500)", nil},
		{"client", 25 * time.Minute, 10 * time.Second, "no answer within 10s", asr.ErrLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url, stop := start(t, "-timeout", c.server.String(), "--", "sh", "-c", "sleep 1000 # $0", "{input}")
			rec, err := local.New(local.Config{URL: url, RequestTimeout: c.client})
			require.NoError(t, err)
			_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", asrtest.WAV(time.Second)))
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.class, err.(*asr.Error).Class)
			stop()
		})
	}
}

func TestMistakesAreExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--", "no-such-program", "{input}"}, "missing for speech recognition: no-such-program"},
		{[]string{"-whisper", "/no/model.bin"}, "/no/model.bin"},
		{[]string{"--", "sh", "-c", "true"}, "{input}"},
		{[]string{"-parse", "xml", "--", "sh", "{input}"}, "must be lines, json or timed"},
		{[]string{"-addr"}, "needs an argument"},
		{[]string{"-parse", "json"}, "-parse needs a PROGRAM"},
		{[]string{"-whisper", "m.bin", "--", "sh", "{input}"}, "exclude each other"},
		{[]string{"-concurrency", "0"}, "must be positive"},
		{[]string{"-timeout", "-1s"}, "must be positive"},
	} {
		var stderr logtest.Buffer
		err := run(t.Context(), c.args, io.Discard, &stderr)
		require.ErrorContains(t, err, c.says, strings.Join(c.args, " "))
	}
}

// A server that is killed leaves no program running, and the next one deletes its files.
func TestServerThatIsKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ffmpeg", "go"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills the programs of a process that has died")
	}
	tmp, binary := t.TempDir(), filepath.Join(t.TempDir(), "speech-server")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	pidFile := filepath.Join(t.TempDir(), "pid")
	cmd := exec.CommandContext(t.Context(), binary, "-addr", "127.0.0.1:0", "--",
		"sh", "-c", "echo $$ > "+pidFile+"; exec sleep 1000 # $0", "{input}")
	var stderr logtest.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), "TMPDIR="+tmp), &stderr
	require.NoError(t, cmd.Start())
	serving := regexp.MustCompile(`url=(\S+)`)
	eventually := func(ok func() bool) { t.Helper(); require.Eventually(t, ok, time.Minute, 10*time.Millisecond) }
	eventually(func() bool { return serving.MatchString(stderr.String()) })
	rec, err := local.New(local.Config{URL: serving.FindStringSubmatch(stderr.String())[1]})
	require.NoError(t, err)
	go func() { _, _ = rec.Recognize(t.Context(), asr.FromBytes("a.wav", asrtest.WAV(time.Second))) }()
	var pid int
	eventually(func() bool {
		data, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	})
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(func() bool {
		p, err := os.FindProcess(pid)
		return err != nil || p.Signal(syscall.Signal(0)) != nil
	})

	left := func() int {
		names, err := filepath.Glob(filepath.Join(tmp, "*"))
		require.NoError(t, err)
		return len(names)
	}
	require.Positive(t, left())
	next := exec.CommandContext(t.Context(), binary, "-addr", "127.0.0.1:0")
	next.Env = append(os.Environ(), "TMPDIR="+tmp)
	require.NoError(t, next.Start())
	eventually(func() bool { return left() == 0 })
	require.NoError(t, next.Process.Kill())
	_ = next.Wait()
}

func TestOfficialClientOfOpenAI(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	if _, err := command.New(command.PocketSphinx()); err != nil {
		require.ErrorContains(t, err, "missing for speech recognition")
		t.Skip(err)
	}
	file, err := filepath.Abs("../internal/demo/speech/lesson1-segment1.mp3")
	require.NoError(t, err)
	url, stop := start(t, "-concurrency", "2")
	t.Cleanup(stop)
	env := []string{"SERVER=" + url, "AUDIO=" + file, "SAID=she finished the picture with great care"}
	require.Equal(t, "done\n", nodetest.Run(t, "testdata/openai", env, "transcriptions.mjs"))
}
