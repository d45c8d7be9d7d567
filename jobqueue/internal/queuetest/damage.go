package queuetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/admin"
)

var damageTests = map[string]func(*testing.T, Harness){
	"DamagedRowsFailAlone":          damagedRowsFailAlone,
	"DamagedRowsOfADeadWorkerFail":  damagedRowsOfADeadWorkerFail,
	"DamagedRowsOfALiveWorkerFail":  damagedRowsOfALiveWorkerFail,
	"DamagedRowsCanBeReadAndEnded":  damagedRowsCanBeReadAndEnded,
	"DamagedRowsDoNotStopARelease":  damagedRowsDoNotStopARelease,
	"DamagedJobsCanBeRetriedByHand": damagedJobsCanBeRetriedByHand,
}

// damaged enqueues a job for each damage, between others, and damages them with change. It returns
// the damaged jobs by their damage and the number of the others.
func damaged(t *testing.T, h Harness, p ...func(*jobqueue.Params)) (jobs map[int64]string, others int) {
	t.Helper()
	require.NotEmpty(t, h.Damage)
	jobs = map[int64]string{}
	for name := range h.Damage {
		ids := fill(t, h.Store, 3, p...)
		jobs[ids[1]], others = name, others+2
	}
	return jobs, others
}

func (h Harness) damage(t *testing.T, jobs map[int64]string) {
	t.Helper()
	for id, name := range jobs {
		update := fmt.Sprintf("update jobqueue_job set %s where id = %d", h.Damage[name], id)
		require.NoError(t, h.Exec(t.Context(), update), name)
	}
}

// requireOthersSucceed waits until each of the damaged jobs has failed, after its Dead callback has
// run, and every other one has succeeded.
func requireOthersSucceed(t *testing.T, h Harness, r *running, dead <-chan int64, jobs map[int64]string, others int) {
	t.Helper()
	failed := map[int64]bool{}
	for others > 0 || len(failed) < len(jobs) {
		e := r.next(jobqueue.EventSucceeded, jobqueue.EventDead)
		if e.Type == jobqueue.EventSucceeded {
			others--
			require.NotContains(t, jobs, e.Job.ID)
			continue
		}
		failed[e.Job.ID] = true
		require.Contains(t, jobs, e.Job.ID, "%v", e.Err)
		require.Error(t, e.Err)
	}
	for range jobs {
		require.Contains(t, jobs, receive(t, dead))
	}
	for id, name := range jobs {
		j := get(t, h.Store, id)
		require.Equal(t, admin.StateFailed, j.State, name)
		require.NotEmpty(t, j.Errors, name)
		require.NotEmpty(t, j.Errors[len(j.Errors)-1].Error, name)
	}
}

// sendDead returns an option that sends the ids of failed jobs to dead.
func sendDead(dead chan<- int64) jobqueue.HandleOption {
	return jobqueue.WithDead(func(_ context.Context, job *jobqueue.Job, _ error) error {
		dead <- job.ID
		return nil
	})
}

func nothing(context.Context, *jobqueue.Job, args) error { return nil }

func damagedRowsFailAlone(t *testing.T, h Harness) {
	for _, limit := range []int{3, jobqueue.Unlimited} {
		jobs, others := damaged(t, h, func(p *jobqueue.Params) { p.MaxAttempts = limit })
		h.damage(t, jobs)
		dead := make(chan int64, len(jobs))
		r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(nothing, sendDead(dead)))
		requireOthersSucceed(t, h, r, dead, jobs, others)
		r.wait()
	}
}

func damagedRowsOfADeadWorkerFail(t *testing.T, h Harness) {
	jobs, others := damaged(t, h)
	dying := register(t, h.Store, never)
	require.Len(t, claim(t, h.Store, dying, "default", 1000), len(jobs)+others)
	h.damage(t, jobs)
	_, _, err := h.Store.Heartbeat(t.Context(), dying, time.Millisecond)
	require.NoError(t, err)
	dead := make(chan int64, len(jobs))
	r := start(t, h.Store, jobqueue.WorkerConfig{Lease: time.Second}, handle(nothing, sendDead(dead)))
	requireOthersSucceed(t, h, r, dead, jobs, others)
}

// The rows are damaged while their handlers run, which then return errors.
func damagedRowsOfALiveWorkerFail(t *testing.T, h Harness) {
	jobs, others := damaged(t, h)
	begun, damaged := make(chan bool, 1000), make(chan bool)
	dead := make(chan int64, 2*len(jobs))
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
		if job.Attempt > 1 {
			return nil
		}
		begun <- true
		<-damaged
		return errTest
	}, sendDead(dead)))
	for range len(jobs) + others {
		receive(t, begun)
	}
	for id, name := range jobs {
		if name == "args" { // they are decoded already
			delete(jobs, id)
			others++
		}
	}
	h.damage(t, jobs)
	close(damaged)
	requireOthersSucceed(t, h, r, dead, jobs, others)
}

func damagedRowsDoNotStopARelease(t *testing.T, h Harness) {
	jobs, others := damaged(t, h)
	w := register(t, h.Store, never)
	require.Len(t, claim(t, h.Store, w, "default", 1000), len(jobs)+others)
	h.damage(t, jobs)
	_, err := h.Store.Release(t.Context(), w, nil, true)
	require.NoError(t, err)
	w = register(t, h.Store, never)
	require.Len(t, claim(t, h.Store, w, "default", 1000), len(jobs)+others)
}

func damagedRowsCanBeReadAndEnded(t *testing.T, h Harness) {
	jobs, others := damaged(t, h)
	h.damage(t, jobs)
	c := admin.NewClient(h.Store)
	list, err := c.List(t.Context(), admin.Filter{State: admin.StateWaiting})
	require.NoError(t, err)
	require.Len(t, list, len(jobs)+others)
	_, err = c.Stats(t.Context())
	require.NoError(t, err)
	for id, name := range jobs {
		if name == "errors" {
			require.Contains(t, get(t, h.Store, id).Errors[0].Error, "damaged row: errors is not a JSON array")
		}
		require.NoError(t, c.Cancel(t.Context(), id), name)
		require.Equal(t, admin.StateCancelled, get(t, h.Store, id).State, name)
	}
	list, err = c.List(t.Context(), admin.Filter{State: admin.StateCancelled})
	require.NoError(t, err)
	require.Len(t, list, len(jobs))
}

func damagedJobsCanBeRetriedByHand(t *testing.T, h Harness) {
	jobs, _ := damaged(t, h)
	h.damage(t, jobs)
	dead := make(chan int64, 2*len(jobs))
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(nothing, sendDead(dead)))
	for range jobs {
		r.next(jobqueue.EventDead)
	}
	c := admin.NewClient(h.Store)
	for id, name := range jobs {
		poll(t, "job ended", func() bool { return get(t, h.Store, id).State == admin.StateFailed })
		require.NoError(t, c.Retry(t.Context(), id))
		want := admin.StateSucceeded
		if name == "args" { // nobody has mended them
			want = admin.StateFailed
		}
		poll(t, name, func() bool {
			j := get(t, h.Store, id)
			return j.State == want && (name != "args" || len(j.Errors) == 2)
		})
	}
}
