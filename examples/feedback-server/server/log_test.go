package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
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

func TestLogSaysWhyASegmentHasNoText(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "no speech in it", http.StatusUnprocessableEntity)
	}))
	defer refusing.Close()
	c, log, _ := logged(t, refusing.URL)
	_, _, _, segment, _ := uploadSegment(t, c)
	require.Eventually(t, func() bool { return len(log.grep(segment.ID)) >= 4 }, timeout, 5*time.Millisecond)
	var ended, givenUp map[string]any
	for _, line := range log.grep(segment.ID) {
		switch line["msg"] {
		case "transcription ended":
			ended = line
		case "job given up":
			givenUp = line
		}
	}
	require.Equal(t, "failed", ended["outcome"])
	require.Equal(t, "WARN", givenUp["level"])
	for _, line := range []map[string]any{ended, givenUp} {
		require.Contains(t, line["error"], "no speech in it")
		require.NotEmpty(t, line["request_id"])
	}
}

func TestLogTellsTheStoryOfASegment(t *testing.T) {
	t.Parallel()
	c, log, _ := logged(t, asrtest.NewServer(t, asrtest.WhisperCPP).URL)
	p, session, lesson, segment, audio := uploadSegment(t, c)

	require.Eventually(t, func() bool { return len(log.grep(segment.ID)) >= 3 }, timeout, 5*time.Millisecond)
	story := log.grep(segment.ID)
	require.Len(t, story, 3)
	var upload, started, ended map[string]any
	for _, line := range story {
		switch line["msg"] {
		case "request":
			upload = line
		case "transcription started":
			started = line
		case "transcription ended":
			ended = line
		}
	}
	require.Equal(t, "INFO", upload["level"])
	require.Equal(t, "POST /api/v1/feedback-lessons/{lesson_id}/segments", upload["route"])
	require.Equal(t, "127.0.0.1", upload["client"])
	require.Greater(t, upload["bytes_in"], float64(len(audio)))
	require.Equal(t, "DEBUG", started["level"])
	require.Equal(t, "INFO", ended["level"])
	require.Equal(t, "transcribed", ended["outcome"])
	require.Positive(t, ended["took_ms"])
	for _, line := range story {
		require.Equal(t, upload["request_id"], line["request_id"])
		require.Equal(t, session.ID, line["session_id"])
		require.Equal(t, lesson.ID, line["lesson_id"])
	}
	for _, line := range []map[string]any{started, ended} {
		require.EqualValues(t, len(audio), line["size_bytes"])
		require.EqualValues(t, 1, line["attempt"])
		require.NotZero(t, line["job"])
	}

	// The way on from here: what is deleted leaves a line for its recording.
	require.NoError(t, c.Call(t.Context(), http.MethodDelete, "/api/v1/profiles/"+p.ID, nil, nil))
	require.Eventually(t, func() bool { return len(log.grep("deleting audio ended")) == 1 }, timeout,
		5*time.Millisecond)
	require.NotEmpty(t, log.grep("deleting audio ended")[0]["request_id"])
}

// The arguments are those of jobs that versions before the request id have stored.
func TestJobsWithoutARequestStillRun(t *testing.T) {
	t.Parallel()
	_, log, file := logged(t, asrtest.NewServer(t, asrtest.WhisperCPP).URL)
	jobs, err := sqlitequeue.Open(file, sqlitequeue.Config{})
	require.NoError(t, err)
	defer jobs.Close()
	_, err = jobqueue.NewClient(jobs).Enqueue(t.Context(), jobqueue.Params{
		Queue: "speech", Kind: "transcribe", Args: json.RawMessage(
			`{"kind":"transcribe","segment_id":"0197a000-0000-7000-8000-000000000001","round":7}`),
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(log.grep("0197a000")) > 0 }, timeout, 5*time.Millisecond)
	require.Equal(t, "deleted meanwhile", log.grep("0197a000")[0]["outcome"])
}
