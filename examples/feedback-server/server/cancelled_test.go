package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

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
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		hanging.CloseClientConnections()
		hanging.Close()
	})
	for state, recognizer := range map[string]string{
		"queued": away.URL, "transcribing": hanging.URL + "/v1/audio/transcriptions",
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
				require.NoError(t, s.Migrate(t.Context()))
				c := feedbackclient.Development("http://"+serve(t, s), "someone")
				_, _, _, segment, _ := uploadSegment(t, c)
				await := func(state string) (got feedbackclient.Segment) {
					t.Helper()
					require.Eventually(t, func() bool {
						var err error
						got, err = c.Segment(t.Context(), segment.ID)
						return err == nil && string(got.State) == state
					}, timeout, 20*time.Millisecond, state)
					return got
				}
				await(state)
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
				failed := await("failed")
				require.Contains(t, failed.Error, "cancelled")

				_, err := c.RetrySegment(t.Context(), segment.ID)
				require.NoError(t, err)
				await(state)
				require.Len(t, jobs(), 2, "the retry is a job of its own")
			})
		}
	}
}
