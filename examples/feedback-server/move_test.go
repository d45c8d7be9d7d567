package main_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/freeport"
	"lessonkit.example/internal/s3test"
)

// systemctl starts and stops the service as its unit says: in the working directory, with the
// variables of the unit and of its environment file, which count more, and no others.
const systemctl = `#!/bin/sh
set -f
unit() { sed -n "s/^$1=//p" feedback-server.service; }
case $1 in
start)
	pid=$PWD/pid variables="$(unit Environment) $(grep = "$(unit EnvironmentFile)")"
	cd "$(unit WorkingDirectory)" || exit
	nohup env -i "PATH=$PATH" $variables feedback-server serve >>service.log 2>&1 & echo $! >"$pid" ;;
is-active) kill -0 "$(cat pid)" ;;
stop)
	kill "$(cat pid)" || exit
	for i in $(seq 600); do kill -0 "$(cat pid)" 2>/dev/null || exit 0; sleep 0.05; done
	echo 'it still runs after 30 s' >&2
	exit 1 ;;
esac
`

// TestMovingAServiceIntoABucket follows the README.
func TestMovingAServiceIntoABucket(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("rclone"); err != nil {
		t.Skip(err)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	first, rest, found := strings.Cut(string(readme), "```sh\naudio=")
	require.True(t, found)
	rest, _, _ = strings.Cut(rest, "```")
	variable, rest, _ := strings.Cut("audio="+rest, "\n")
	before, after, found := strings.Cut(rest, "&&")
	require.True(t, found)
	settings := regexp.MustCompile(`(RCLONE_\w+)=(\S+)`).FindAllStringSubmatch(first, -1)
	require.Len(t, settings, 5)

	s3 := s3test.Start(t)
	files := s3.Bucket(t, "recordings")
	dir, bin := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "feedback-server"), ".")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "systemctl"), []byte(systemctl), 0o700))
	unit, err := os.ReadFile("feedback-server.service")
	require.NoError(t, err)
	// inDir returns the text with the service's paths below the directory.
	inDir := strings.NewReplacer("/etc/", dir+"/etc/", "/var/lib/", dir+"/var/lib/").Replace
	require.NoError(t, os.WriteFile(filepath.Join(dir, "feedback-server.service"), []byte(inDir(string(unit))), 0o600))
	state := filepath.Join(dir, "var/lib/feedback-server")
	require.NoError(t, os.MkdirAll(state, 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "etc"), 0o700))
	address, err := freeport.Addr()
	require.NoError(t, err)
	credentials := []string{
		"AWS_ACCESS_KEY_ID=" + s3test.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + s3test.SecretAccessKey,
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etc/feedback-server.env"), []byte(
		"HTTP_ADDR="+address+"\nDATABASE_URL=sqlite:lessonkit.db\n"+
			"APP_ENV=development\nALLOW_DEVELOPMENT_USER_HEADER=true"), 0o600))
	env := append(credentials, "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir)
	for _, setting := range settings {
		env = append(env, setting[1]+"="+setting[2])
	}
	env = append(env, "RCLONE_CONFIG_BUCKET_ENDPOINT="+s3.Endpoint, "RCLONE_CONFIG_BUCKET_REGION=us-east-1",
		"server=http://"+address, "bucket="+s3test.URL(s3.Endpoint, "recordings/school"))
	sh := func(ctx context.Context, script string) {
		cmd := exec.CommandContext(ctx, "sh", "-c", inDir(script))
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	sh(t.Context(), "cd /var/lib/feedback-server && DATABASE_URL=sqlite:lessonkit.db feedback-server migrate")
	sh(t.Context(), "systemctl start feedback-server")
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
	sh(t.Context(), variable+"\n"+before)
	add(1, "recorded during the move")
	sh(t.Context(), variable+"\n"+after)
	require.NoError(t, os.RemoveAll(filepath.Join(state, "audio")))

	require.Eventually(t, ready, time.Minute, 50*time.Millisecond)
	add(2, "recorded after the move")
	for id, want := range audio {
		f, err := c.Audio(t.Context(), id)
		require.NoError(t, err)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Equal(t, want, got)
	}
	kept, err := filepath.Glob(filepath.Join(files, "school/??/*.mp3"))
	require.NoError(t, err)
	require.Len(t, kept, 3)
	require.NoDirExists(t, filepath.Join(state, "audio"))
}
