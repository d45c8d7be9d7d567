package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
)

// TestCancelledTranscriptionsFail: an operator cancels the job of a recording, which waits for the
// recogniser or is there.
func TestCancelledTranscriptionsFail(t *testing.T) {
	t.Parallel()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		hanging.CloseClientConnections()
		hanging.Close()
	})
	for state, recognizer := range map[string]string{
		"queued":       "http://127.0.0.1:1", // nothing listens there
		"transcribing": hanging.URL + "/v1/audio/transcriptions",
	} {
		for engine, url := range map[string]string{
			"sqlite": "sqlite:" + filepath.Join(t.TempDir(), state+".db"), "postgres": pgtest.URL(t),
		} {
			t.Run(state+" "+engine, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, server.RoleAll, map[string]string{
					"DATABASE_URL": url, "ALLOW_DEVELOPMENT_USER_HEADER": "true",
					"OPERATOR_PASSWORD": operatorPassword, "LOCAL_ASR_URL": recognizer,
				})
				c := feedbackclient.Development("http://"+serve(t, s), "someone")
				segment := uploadSegment(t, c)
				waitState(t, c, segment.ID, state)
				queue := jobqueue.NewClient(queueIn(t, url))
				jobs := func() []*jobqueue.Job { // not those of schedules
					t.Helper()
					jobs, _, err := queue.Search(t.Context(), segment.ID, 0)
					require.NoError(t, err)
					return jobs
				}
				require.Len(t, jobs(), 1)
				cancel := fmt.Sprintf("/jobs/%d/cancel", jobs()[0].ID)
				w := request(s, http.MethodPost, cancel, basic("operator", operatorPassword))
				require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
				require.Regexp(t, `note=cancel$`, w.Header().Get("Location"), "and not that it has ended before")
				failed := waitState(t, c, segment.ID, "failed")
				require.Contains(t, failed.Error, "cancelled")

				_, err := c.RetrySegment(t.Context(), segment.ID, "")
				require.NoError(t, err)
				waitState(t, c, segment.ID, state)
				require.Len(t, jobs(), 2, "the retry is a job of its own")
			})
		}
	}
}
