package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/jobqueue"
)

// retried is a running server with one recording, whose recogniser can be switched.
type retried struct {
	t       *testing.T
	server  *server.Server
	address string
	client  feedbackclient.Client
	segment string
	jobs    *jobqueue.Client
	refuses atomic.Bool // the recogniser refuses every recording
}

// withFailedSegment returns a server whose only recording was refused by the recogniser.
func withFailedSegment(t *testing.T) *retried {
	f := &retried{t: t}
	f.refuses.Store(true)
	speech := httptest.NewServer(saying("heard", func(_ int32, w http.ResponseWriter, _ *http.Request) bool {
		refused := f.refuses.Load()
		if refused {
			http.Error(w, `{"error":{"message":"no speech in it"}}`, http.StatusUnprocessableEntity)
		}
		return refused
	}))
	t.Cleanup(speech.Close)
	database := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	f.server = onSQLite(t, server.RoleAll, "DATABASE_URL", database, "OPERATOR_PASSWORD", operatorPassword,
		"LOCAL_ASR_URL", speech.URL)
	f.jobs = jobqueue.NewClient(queueIn(t, database))
	f.address = serve(t, f.server)
	f.client = feedbackclient.Development("http://"+f.address, "someone")

	f.segment = uploadSegment(t, f.client).ID
	waitState(t, f.client, f.segment, "failed")
	return f
}

// waitJob waits until the only job with the state has n errors.
func (f *retried) waitJob(state jobqueue.State, n int) *jobqueue.Job {
	f.t.Helper()
	var job *jobqueue.Job
	require.Eventually(f.t, func() bool {
		jobs, _, err := f.jobs.List(context.Background(), jobqueue.Filter{State: state, Kind: "transcribe"})
		if err != nil || len(jobs) != 1 || len(jobs[0].Errors) != n {
			return false
		}
		job = jobs[0]
		return true
	}, timeout, 10*time.Millisecond, state.String())
	return job
}

func (f *retried) retryJob(id int64) {
	f.t.Helper()
	w := request(f.server, http.MethodPost, fmt.Sprintf("/jobs/%d/retry", id), basic("operator", operatorPassword))
	require.Equal(f.t, http.StatusSeeOther, w.Code)
	require.True(f.t, strings.HasSuffix(w.Header().Get("Location"), "note=retry"), w.Header())
}

func TestRetryOfAJobFailsAfterTheSegmentWasRetried(t *testing.T) {
	t.Parallel()
	f := withFailedSegment(t)
	old := f.waitJob(jobqueue.StateFailed, 1)
	retry := "/api/v1/audio-segments/" + f.segment + "/retry"
	require.NoError(t, f.client.Call(t.Context(), http.MethodPost, retry, nil, nil))
	require.Eventually(t, func() bool {
		failed, _, err := f.jobs.List(t.Context(), jobqueue.Filter{State: jobqueue.StateFailed})
		return err == nil && len(failed) == 2
	}, timeout, 10*time.Millisecond, "the recogniser refuses the second job too")

	f.refuses.Store(false)
	f.retryJob(old.ID)
	var errs []jobqueue.AttemptError
	require.Eventually(t, func() bool {
		job, err := f.jobs.Get(t.Context(), old.ID)
		if err != nil || !job.State.Finished() || len(job.Errors) < 2 {
			return false
		}
		require.Equal(t, jobqueue.StateFailed, job.State)
		errs = job.Errors
		return true
	}, timeout, 10*time.Millisecond)
	require.Contains(t, errs[1].Error, "queued again")
	waitState(t, f.client, f.segment, "failed")

	failed, _, err := f.jobs.List(t.Context(), jobqueue.Filter{State: jobqueue.StateFailed})
	require.NoError(t, err)
	f.retryJob(failed[0].ID)
	waitState(t, f.client, f.segment, "transcribed")
}
