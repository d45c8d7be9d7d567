package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
)

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns all lines.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// grep returns the lines that contain the text.
func (b *logBuffer) grep(text string) (lines []map[string]any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.text.String()) {
		if strings.Contains(line, text) {
			var fields map[string]any
			if json.Unmarshal([]byte(line), &fields) == nil {
				lines = append(lines, fields)
			}
		}
	}
	return lines
}

// logged returns a client of a server that uses a recognizer and runs until the test ends, its log
// and its database.
func logged(t *testing.T, recognizer string) (c feedbackclient.Client, log *logBuffer, file string) {
	file, log = filepath.Join(t.TempDir(), "x.db"), new(logBuffer)
	config, err := server.ParseConfig(map[string]string{
		"DATABASE_URL": "sqlite:" + file, "AUDIO_STORAGE_DIR": t.TempDir(),
		"ALLOW_DEVELOPMENT_USER_HEADER": "true",
		"LOCAL_ASR_URL":                 recognizer,
	})
	require.NoError(t, err)
	debug := &slog.HandlerOptions{Level: slog.LevelDebug}
	s, err := server.New(t.Context(), config, server.Options{Logger: slog.New(slog.NewJSONHandler(log, debug))})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	require.NoError(t, s.Migrate(t.Context()))
	return feedbackclient.Development("http://"+serve(t, s), "someone"), log, file
}

// uploadSegment uploads a recording to a new lesson.
func uploadSegment(t *testing.T, c feedbackclient.Client) (
	p feedbackclient.Profile, session feedbackclient.Session, lesson feedbackclient.Lesson,
	segment feedbackclient.Segment, audio []byte,
) {
	t.Helper()
	p, err := c.EnsureProfile(t.Context(), "Someone")
	require.NoError(t, err)
	session, err = c.OpenSession(t.Context(), p.ID)
	require.NoError(t, err)
	lesson, err = c.StartLesson(t.Context(), session.ID)
	require.NoError(t, err)
	audio, err = os.ReadFile("../../internal/demo/speech/lesson1-segment1.mp3")
	require.NoError(t, err)
	segment, err = c.Upload(t.Context(), lesson.ID, 0, "a.mp3", audio)
	require.NoError(t, err)
	return p, session, lesson, segment, audio
}
