//go:build linux

package readme

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/longtest"
	"lessonkit.example/internal/pgtest"
)

// note returns the commands of a note about the operation of feedback-server.
func note(t *testing.T, title string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples/feedback-server/README.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n**"+title+".** ")
	require.True(t, found, title)
	section, _, _ = strings.Cut(section, "\n**")
	var commands []string
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		commands = append(commands, m[1])
	}
	require.NotEmpty(t, commands, title)
	return commands
}

// node runs commands as an operator does, with feedback-server on PATH.
type node struct {
	env  map[string]string
	dir  string
	base string // of the service

	platform *authtest.Platform // that teachers sign in with
}

// bin is the directory with feedback-server, which the notes' tests share.
var bin string

func TestMain(m *testing.M) {
	if !longtest.Wanted() {
		os.Exit(m.Run())
	}
	var err error
	if bin, err = os.MkdirTemp("", "lessonkit-readme-"); err != nil {
		panic(err)
	}
	build := exec.Command("go", "build", "-o", bin+"/", "./examples/feedback-server")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build: %v\n%s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

// newNode keeps the test out of the default run.
func newNode(t *testing.T) *node {
	t.Helper()
	longtest.Only(t)
	platform := authtest.NewPlatform(t)
	database := pgtest.URL(t)
	return &node{dir: t.TempDir(), platform: platform, env: map[string]string{
		"PATH":         bin + ":" + os.Getenv("PATH"),
		"DATABASE_URL": database, "MIGRATE_DATABASE_URL": database,
		"AUDIO_STORAGE_DIR": filepath.Join(t.TempDir(), "audio"),
		"MINIAPP_APP_ID":    platform.AppID, "MINIAPP_APP_SECRET": platform.Secret,
		"MINIAPP_API_URL": platform.Endpoint(),
		"LOCAL_ASR_URL":   asrtest.NewServer(t, asrtest.WhisperCPP).URL,
	}}
}

func (n *node) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-euc", script)
	cmd.Dir = n.dir
	for name, value := range n.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func (n *node) run(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := n.command(ctx, script).CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
	return string(out)
}

// servingAt finds the address of a server in its log, which is text or JSON.
var servingAt = regexp.MustCompile(`serving\b.*address\W+(http://[\d.]+:\d+)\b`)

// serve starts a server by a command until the end of the test.
func (n *node) serve(t *testing.T, command string) {
	t.Helper()
	n.env["HTTP_ADDR"] = "127.0.0.1:0"
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	require.NoError(t, err)
	defer log.Close() // the process has its own
	cmd := n.command(t.Context(), strings.Replace(command, "feedback-server", "exec feedback-server", 1))
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(path)
			t.Logf("%s:\n%s", command, text)
		}
	})
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(path)
		address := servingAt.FindSubmatch(text)
		if address != nil {
			n.base = string(address[1])
		}
		return address != nil
	}, time.Minute, 50*time.Millisecond, "the log has the address")
	client := feedbackclient.New(n.base, "")
	require.Eventually(t, func() bool { return client.Ready(t.Context()) == nil }, time.Minute, 50*time.Millisecond)
}

// teach signs a teacher in and uploads a recording, and returns when it has its text.
func (n *node) teach(t *testing.T) (token string, segment feedbackclient.Segment) {
	t.Helper()
	login, err := feedbackclient.New(n.base, "").Login(t.Context(), n.platform.Code(authtest.User{OpenID: "anna"}))
	require.NoError(t, err)
	c := feedbackclient.New(n.base, login.Token)
	profile, err := c.EnsureProfile(t.Context(), "Ming")
	require.NoError(t, err)
	session, err := c.OpenSession(t.Context(), profile.ID)
	require.NoError(t, err)
	lesson, err := c.StartLesson(t.Context(), session.ID)
	require.NoError(t, err)
	segment, err = c.Upload(t.Context(), lesson.ID, 0, "a.mp3", speech(t))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		segment, err = c.Segment(t.Context(), segment.ID)
		return err == nil && segment.State == "transcribed"
	}, time.Minute, 50*time.Millisecond)
	require.Contains(t, segment.Text, asrtest.Heard(speech(t)))
	return login.Token, segment
}

func speech(t *testing.T) []byte {
	t.Helper()
	audio, err := os.ReadFile(filepath.Join(root, "examples/internal/demo/speech/lesson1-segment0.mp3"))
	require.NoError(t, err)
	return audio
}

func TestNoteOnSeveralProcesses(t *testing.T) {
	t.Parallel()
	blocks := note(t, "Several processes")
	n := newNode(t)
	commands := strings.Split(strings.TrimSpace(blocks[0]), "\n")
	require.Len(t, commands, 3)
	n.run(t, commands[0])
	n.serve(t, commands[2])
	require.Contains(t, commands[1], "-role api")
	n.serve(t, commands[1])
	n.serve(t, commands[1]) // on each node
	n.teach(t)

	require.Equal(t, "sh examples/feedback-server/cluster.sh\n", blocks[1], ".ci/run runs it")
	ci, err := os.ReadFile(filepath.Join(root, ".ci/run"))
	require.NoError(t, err)
	require.Contains(t, string(ci), strings.TrimSpace(blocks[1]))
}

func TestNoteOnBackup(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pg_dump"); err != nil {
		t.Skip("pg_dump is not on PATH")
	}
	blocks := note(t, "Backup")
	require.Len(t, blocks, 2)
	n := newNode(t)
	n.run(t, "feedback-server migrate")
	n.serve(t, "feedback-server serve")
	token, before := n.teach(t)
	n.run(t, blocks[0])

	database := pgtest.URL(t)
	n.env["DATABASE_URL"], n.env["MIGRATE_DATABASE_URL"] = database, database
	n.env["AUDIO_STORAGE_DIR"] = filepath.Join(t.TempDir(), "restored")
	n.run(t, blocks[1])
	n.serve(t, "feedback-server serve")
	c := feedbackclient.New(n.base, token)
	after, err := c.Segment(t.Context(), before.ID)
	require.NoError(t, err)
	require.Equal(t, before, after)
	audio, err := c.Audio(t.Context(), before.ID)
	require.NoError(t, err)
	defer audio.Close()
	var recording bytes.Buffer
	_, err = recording.ReadFrom(audio)
	require.NoError(t, err)
	require.Equal(t, speech(t), recording.Bytes())
}

func TestNoteOnKeepingAndForgetting(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("psql is not on PATH")
	}
	blocks := note(t, "Keeping and forgetting")
	require.Len(t, blocks, 2)
	n := newNode(t)
	n.run(t, "feedback-server migrate")
	n.serve(t, strings.Split(blocks[0], "\n")[0])
	token, _ := n.teach(t)
	c := feedbackclient.New(n.base, token)
	me, err := c.Me(t.Context())
	require.NoError(t, err)
	n.env["server"], n.env["teacher"] = n.base, me.ID
	n.run(t, blocks[1])
	require.FileExists(t, filepath.Join(n.dir, "lessons.zip"))
	_, err = c.Me(t.Context())
	require.ErrorContains(t, err, "401")
}

// The statement for SQLite makes a database that opens by itself.
func TestNoteOnBackupOfSQLite(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("sqlite3 is not installed")
	}
	text, err := os.ReadFile(filepath.Join(root, "examples/feedback-server/README.md"))
	require.NoError(t, err)
	command := regexp.MustCompile("`(sqlite3 lessonkit.db .*?)`").FindSubmatch(text)
	require.NotNil(t, command)
	n := newNode(t)
	n.env["DATABASE_URL"] = "sqlite:" + filepath.Join(n.dir, "lessonkit.db")
	n.env["MIGRATE_DATABASE_URL"] = n.env["DATABASE_URL"]
	n.run(t, "feedback-server migrate")
	n.serve(t, "feedback-server serve")
	token, before := n.teach(t)
	n.run(t, string(command[1]))
	n.env["DATABASE_URL"] = "sqlite:" + filepath.Join(n.dir, "copy.db")
	n.serve(t, "feedback-server serve")
	after, err := feedbackclient.New(n.base, token).Segment(t.Context(), before.ID)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
