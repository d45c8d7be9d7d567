package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/logtest"
)

// logBuffer is a log of lines of JSON.
type logBuffer struct{ logtest.Buffer }

func (b *logBuffer) grep(text string) (lines []map[string]any) {
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, text) {
			var fields map[string]any
			if json.Unmarshal([]byte(line), &fields) == nil {
				lines = append(lines, fields)
			}
		}
	}
	return lines
}

// logged returns a client of a server that uses a recognizer and runs until the test ends, and its
// log.
func logged(t *testing.T, recognizer string) (feedbackclient.Client, *logBuffer) {
	s, log := newLoggedServer(t, server.RoleAll, map[string]string{
		"DATABASE_URL":                  "sqlite:" + filepath.Join(t.TempDir(), "x.db"),
		"ALLOW_DEVELOPMENT_USER_HEADER": "true", "LOCAL_ASR_URL": recognizer,
	})
	return feedbackclient.Development("http://"+serve(t, s), "someone"), log
}

// uploadSegment uploads a recording to a new lesson.
func uploadSegment(t *testing.T, c feedbackclient.Client) feedbackclient.Segment {
	t.Helper()
	_, _, lesson := openLesson(t, c, "Someone")
	audio, err := os.ReadFile("../../internal/demo/speech/lesson1-segment1.mp3")
	require.NoError(t, err)
	segment, err := c.Upload(t.Context(), lesson.ID, 0, "a.mp3", audio)
	require.NoError(t, err)
	return segment
}

func waitState(t *testing.T, c feedbackclient.Client, id, state string) (segment feedbackclient.Segment) {
	t.Helper()
	require.EventuallyWithT(t, func(now *assert.CollectT) {
		var err error
		segment, err = c.Segment(t.Context(), id)
		require.NoError(now, err)
		require.Equal(now, state, string(segment.State), segment.Error)
	}, timeout, 10*time.Millisecond)
	return segment
}
