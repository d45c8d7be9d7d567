package server_test

import (
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/pgtest"
)

// flakyRecognizer answers recordings with a status, and hears something in each if that is 200.
func flakyRecognizer(t *testing.T, status *atomic.Int64) (address string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.Method != http.MethodPost || r.ContentLength < 1000:
			http.Error(w, "not a recording", http.StatusBadRequest) // discovery
		case status.Load() == http.StatusOK:
			io.WriteString(w, `{"text":"Everybody drew a tree."}`)
		default:
			http.Error(w, "no speech in it", int(status.Load()))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Lines are found by the request, by the trace, or by both, whichever process has written them.
func TestEveryLineOfALessonHasItsRequestAndItsTrace(t *testing.T) {
	t.Parallel()
	for name, collector := range map[string]*collected{"with traces": collectSpans(t), "without traces": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var status atomic.Int64
			endpoint := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(endpoint.Close)
			environment := map[string]string{
				"DATABASE_URL": pgtest.URL(t), "AUDIO_STORAGE_DIR": t.TempDir(),
				"ALLOW_DEVELOPMENT_USER_HEADER": "true", "LOCAL_ASR_URL": flakyRecognizer(t, &status),
				"ASR_RETRY_SECONDS": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
				"FEEDBACK_SUMMARY_API_URL": endpoint.URL, "FEEDBACK_SUMMARY_MODEL": "any",
			}
			maps.DeleteFunc(environment, func(_, value string) bool { return value == "" })
			start := func(role server.Role) (address string, log *logBuffer) {
				s, log := newLoggedServer(t, role, environment)
				return "http://" + serve(t, s), log
			}
			address, requests := start(server.RoleAPI)
			_, jobs := start(server.RoleWorker)
			c := feedbackclient.Development(address, "teacher")

			profile, session, lesson := openLesson(t, c, "Someone")
			upload := func(sequence int) feedbackclient.Segment {
				segment, err := c.Upload(t.Context(), lesson.ID, sequence, "a.wav", asrtest.WAV(time.Second))
				require.NoError(t, err)
				return segment
			}
			status.Store(http.StatusInternalServerError)
			failed := upload(0)
			require.Eventually(t, func() bool { return len(jobs.grep("attempt failed")) > 0 }, timeout,
				5*time.Millisecond)
			status.Store(http.StatusUnprocessableEntity)
			waitState(t, c, failed.ID, "failed")
			status.Store(http.StatusOK)
			waitState(t, c, upload(1).ID, "transcribed")
			_, err := c.Generate(t.Context(), session.ID, nil)
			require.NoError(t, err)
			require.NoError(t, c.Call(t.Context(), http.MethodDelete, "/api/v1/profiles/"+profile.ID, nil, nil))
			require.Eventually(t, func() bool { return len(jobs.grep("deleting audio ended")) == 2 }, timeout,
				5*time.Millisecond)

			// All of the story is there ...
			for _, message := range []string{"request", "summary endpoint failed", "trying the fallback"} {
				require.NotEmpty(t, requests.grep(`"msg":"`+message+`"`), message)
			}
			for _, message := range []string{"transcription started", "transcription ended", "attempt failed",
				"job given up", "job failed", "deleting audio started"} {
				require.NotEmpty(t, jobs.grep(`"msg":"`+message+`"`), message)
			}
			// ... and each line of it belongs to a request.
			ofProcess := regexp.MustCompile(`^(configured|DEVELOPMENT SIGN-IN|recogniser (checked|found)|` +
				`waiting for the database|the database is ready)`)
			traced := collector.url != ""
			for _, line := range append(requests.grep(""), jobs.grep("")...) {
				if ofProcess.MatchString(line["msg"].(string)) {
					continue
				}
				require.NotEmpty(t, line["request_id"], "%v", line)
				require.Equal(t, traced, line["trace_id"] != nil, "%v", line)
			}
			require.NotRegexp(t, `"request_id":.*"request_id":`, requests.String(), "once in a line")

			story := requests.grep(`"route":"POST /api/v1/feedback-lessons/{lesson_id}/segments"`)
			require.Len(t, story, 2)
			first := jobs.grep(story[0]["request_id"].(string))
			require.GreaterOrEqual(t, len(first), 7, "two attempts with three lines each, and one that gives up")
			for _, line := range first {
				if line["attempt"] == 1.0 {
					require.Equal(t, story[0]["trace_id"], line["trace_id"])
				}
			}
			if !traced {
				return
			}
			for _, name := range []string{"insert feedback_segments", "process speech", "update feedback_segments"} {
				span := collector.wait(t, name)
				require.Equal(t, story[0]["trace_id"], hex.EncodeToString(span.TraceId), name)
				if name != "process speech" {
					require.Equal(t, "postgresql", attributeOf(span, "db.system.name"))
				}
			}
		})
	}
}
