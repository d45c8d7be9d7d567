package main_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/freeport"
	"lessonkit.example/internal/s3test"
)

// systemctl starts and stops the service in the working directory.
const systemctl = `#!/bin/sh
case $1 in
start) nohup feedback-server >>service.log 2>&1 & echo $! >pid ;;
stop)
	kill "$(cat pid)" || exit
	for i in $(seq 600); do kill -0 "$(cat pid)" 2>/dev/null || exit 0; sleep 0.05; done
	echo 'it still runs after 30 s' >&2
	exit 1 ;;
esac
`

// moveCommands returns the README's commands that move a service into $bucket.
func moveCommands(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a shell")
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(readme), "```sh\nbucket=")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	_, commands, _ := strings.Cut(block, "\n")
	return commands
}

// TestMovingAServiceIntoABucket follows the README.
func TestMovingAServiceIntoABucket(t *testing.T) {
	t.Parallel()
	before, after, found := strings.Cut(moveCommands(t), "&&")
	require.True(t, found)

	s3 := s3test.Start(t)
	files := s3.Bucket(t, "recordings")
	dir, bin := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "feedback-server"), ".")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "systemctl"), []byte(systemctl), 0o700))
	address, err := freeport.Addr()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), []byte(strings.Join([]string{
		"HTTP_ADDR=" + address, "DATABASE_URL=sqlite:lessonkit.db", "AUDIO_STORAGE_DIR=lessonkit-data/audio",
		"ALLOW_DEVELOPMENT_USER_HEADER=true",
		"AWS_ACCESS_KEY_ID=" + s3test.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + s3test.SecretAccessKey, "",
	}, "\n")), 0o600))
	sh := func(ctx context.Context, script string) string {
		cmd := exec.CommandContext(ctx, "sh", "-c",
			"bucket='"+s3test.URL(s3.Endpoint, "recordings/school")+"'\n"+script)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	sh(t.Context(), "feedback-server migrate && systemctl start")
	t.Cleanup(func() { sh(context.WithoutCancel(t.Context()), "systemctl stop") })

	c := feedbackclient.Development("http://"+address, "somebody")
	ready := func() bool { return c.Ready(t.Context()) == nil }
	require.Eventually(t, ready, time.Minute, 50*time.Millisecond)
	p, err := c.EnsureProfile(t.Context(), "Ming")
	require.NoError(t, err)
	session, err := c.OpenSession(t.Context(), p.ID)
	require.NoError(t, err)
	lesson, err := c.StartLesson(t.Context(), session.ID)
	require.NoError(t, err)
	record := func(sequence int, audio []byte) feedbackclient.Segment {
		segment, err := c.Upload(t.Context(), lesson.ID, sequence, "a.mp3", audio)
		require.NoError(t, err)
		return segment
	}
	audio := map[string][]byte{}
	add := func(sequence int, marker string) {
		content := feedbacktest.MP3(marker)
		audio[record(sequence, content).ID] = content
	}
	add(0, "first")
	require.Contains(t, sh(t.Context(), before), "1 copied")
	add(1, "recorded during the move")
	require.Contains(t, sh(t.Context(), after), "1 copied (0.0 MB), 1 already there, 0 failed")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "lessonkit-data/audio")))

	require.Eventually(t, ready, time.Minute, 50*time.Millisecond)
	add(2, "recorded after the move")
	for id, want := range audio {
		f, err := c.Audio(t.Context(), id, 0)
		require.NoError(t, err)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Equal(t, want, got)
	}
	kept, err := filepath.Glob(filepath.Join(files, "school/??/*.mp3"))
	require.NoError(t, err)
	require.Len(t, kept, 3)
	require.NoDirExists(t, filepath.Join(dir, "lessonkit-data/audio"))
}

func TestMoveEndsAtACommandThatFails(t *testing.T) {
	t.Parallel()
	commands := moveCommands(t)
	all := []string{"feedback-server copy-audio", "systemctl stop", "feedback-server copy-audio -by-size",
		"systemctl start"}
	for failing := range len(all) + 1 {
		dir := t.TempDir()
		script := fmt.Sprintf("#!/bin/sh\necho \"$(basename \"$0\") $*\" >>calls\n"+
			"[ \"$(wc -l <calls)\" -ne %d ]\n", failing+1)
		for _, name := range []string{"feedback-server", "systemctl"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700))
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "bucket=s3://b/p\n"+commands)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		output, err := cmd.CombinedOutput()
		require.Equal(t, failing == len(all), err == nil, string(output))
		calls, err := os.ReadFile(filepath.Join(dir, "calls"))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(calls)), "\n")
		require.Len(t, lines, min(failing+1, len(all)), "the commands after the one that failed are not run")
		for i, line := range lines {
			require.True(t, strings.HasPrefix(line, all[i]), line)
		}
		_, err = os.Stat(filepath.Join(dir, ".env"))
		require.Equal(t, failing < 3, errors.Is(err, fs.ErrNotExist), "the bucket is configured after both copies")
	}
}

func TestCopyAudioExplainsMistakes(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "feedback-server")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(output))
	empty, recordings := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(recordings, "incoming"), 0o700))
	for name, c := range map[string]struct {
		args   []string
		status int
		stderr string
	}{
		"one argument":          {[]string{"a"}, 2, "FROM and TO are needed"},
		"a missing directory":   {[]string{empty + "/missing", empty}, 1, "is not a directory of recordings"},
		"a directory of others": {[]string{empty, "s3://bucket"}, 1, "is not a directory of recordings"},
		"a wrong address":       {[]string{"s3://key:hush@bucket", empty}, 1, "FROM: audios3: the address must be"},
		"an address with one /": {[]string{recordings, "s3:/bucket/x"}, 1, "TO: audios3: the address must name"},
	} {
		cmd := exec.CommandContext(t.Context(), bin, append([]string{"copy-audio"}, c.args...)...)
		cmd.Dir = empty
		output, err := cmd.CombinedOutput()
		require.Error(t, err, name)
		require.Equal(t, c.status, cmd.ProcessState.ExitCode(), name)
		require.Contains(t, string(output), c.stderr, name)
		require.NotContains(t, string(output), "hush", name)
	}
	left, err := os.ReadDir(empty)
	require.NoError(t, err)
	require.Empty(t, left)
}
