package queueui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/queueui"
)

func TestButtons(t *testing.T) {
	s := setup(t, queueui.Config{Prefix: "/q"})
	post := func(name, action string) string {
		w := s.do("POST", fmt.Sprintf("/q/jobs/%d/%s", s.ids[name], action))
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		return w.Header().Get("Location")
	}
	state := func(name string) jobqueue.State {
		j, err := s.client.Get(t.Context(), s.ids[name])
		require.NoError(t, err)
		return j.State
	}
	s.page(post("cancelled", "retry"), "will run again")
	require.NotEqual(t, jobqueue.StateCancelled, state("cancelled"))
	s.page(post("waiting", "cancel"), "was cancelled")
	require.Equal(t, jobqueue.StateCancelled, state("waiting"))
	s.page(post("good", "retry"), "Nothing was changed")
	s.page(post("good", "cancel"), "Nothing was changed")
	s.page(post("slow", "cancel"), "notified to stop")
	require.Eventually(t, func() bool { return state("slow") == jobqueue.StateCancelled }, time.Minute,
		5*time.Millisecond)
}

func (s *site) post(path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// submit sends a form and returns the page that it redirects to.
func (s *site) submit(path string, form url.Values) string {
	s.t.Helper()
	w := s.post(path, form)
	require.Equal(s.t, http.StatusSeeOther, w.Code, w.Body)
	return w.Header().Get("Location")
}

func TestPauseOfAQueue(t *testing.T) {
	s := setup(t, queueui.Config{Prefix: "/q"})
	s.page("/q/", `aria-label="Pause queue nightly"`)
	s.page(s.submit("/q/queues/pause", url.Values{"queue": {"nightly"}}),
		"paused", `aria-label="Resume queue nightly"`)
	stats, err := s.client.Stats(t.Context())
	require.NoError(t, err)
	require.False(t, stats.Queue("nightly").PausedUntil.IsZero())
	require.NotContains(t, s.page("/q/"), " left<", "there is no end")
	require.NoError(t, s.client.Pause(t.Context(), "nightly", time.Now().Add(90*time.Minute+30*time.Second)))
	s.page("/q/", "1 h 30 min left")
	s.page(s.submit("/q/queues/resume", url.Values{"queue": {"nightly"}}), `aria-label="Pause queue nightly"`)
	require.Equal(t, http.StatusBadRequest, s.do("POST", "/q/queues/pause").Code)
	require.Equal(t, http.StatusNotFound, s.post("/q/queues/explode", url.Values{"queue": {"nightly"}}).Code)
	s.page("/q/", `aria-label="Pause queue nightly"`)
}

func TestSchedules(t *testing.T) {
	s := setup(t, queueui.Config{Prefix: "/q"})
	schedule := func() jobqueue.ScheduleInfo {
		schedules, err := s.client.Schedules(t.Context())
		require.NoError(t, err)
		require.Len(t, schedules, 1)
		return schedules[0]
	}
	require.Eventually(t, func() bool {
		schedules, err := s.client.Schedules(t.Context())
		return err == nil && len(schedules) == 1
	}, time.Minute, 5*time.Millisecond)
	s.page("/q/", "sweep &lt;all&gt;", "Schedules", `formaction="/q/schedules/run"`)
	name := url.Values{"name": {"sweep <all>"}}
	s.page(s.submit("/q/schedules/pause", name), "paused", "Resume: schedule sweep &lt;all&gt;")
	require.True(t, schedule().Paused)
	s.page(s.submit("/q/schedules/resume", name), "Pause: schedule")
	require.False(t, schedule().Paused)
	s.submit("/q/schedules/run", name)
	require.Eventually(t, func() bool { return !schedule().LastAt.IsZero() }, time.Minute, 5*time.Millisecond)
}

func TestBulkActions(t *testing.T) {
	s := setup(t, queueui.Config{Prefix: "/q"})
	ps := make([]jobqueue.Params, 70)
	for i := range ps {
		ps[i] = jobqueue.Params{Kind: "many & more", Queue: "bulk"}
	}
	_, err := s.client.EnqueueMany(t.Context(), ps)
	require.NoError(t, err)
	list := "state=waiting&queue=bulk"
	s.page("/q/jobs?"+list, "Cancel all…")
	s.page("/q/bulk/cancel?"+list, "Cancel all waiting jobs?", "Queue bulk", "Cancel them")
	form := url.Values{"state": {"waiting"}, "queue": {"bulk"}, "kind": {"many & more"}}
	s.page(s.submit("/q/bulk/cancel", form), "Jobs changed: 70.")
	require.Contains(t, s.page("/q/jobs?state=cancelled&queue=bulk", "Retry all…"), "Older")
	form.Set("state", "cancelled")
	s.page(s.submit("/q/bulk/retry", form), "Jobs changed: 70.")
	stats, err := s.client.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, 70, stats.Queue("bulk").Waiting)
	for _, path := range []string{"/q/bulk/retry?state=succeeded", "/q/bulk/explode?state=failed", "/q/bulk/cancel"} {
		require.Equal(t, http.StatusBadRequest, s.do("GET", path).Code, path)
	}
}
