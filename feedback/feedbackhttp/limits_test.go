package feedbackhttp_test

import (
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp"
)

func (a answer) wantRetryAfter(d time.Duration) {
	a.t.Helper()
	require.Equal(a.t, strconv.Itoa(int(d.Seconds())), a.Header().Get("Retry-After"))
}

func TestDailyLimitsAreAnswered(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.serve(func(c *feedback.Config, _ *feedbackhttp.Config) {
		c.Limits = feedback.Limits{Segments: 1, Sessions: 1, Summaries: 1}
	})
	const left = 15 * time.Hour // of the day of the test's clock
	session := e.session(e.profile("Ming"))
	lesson := e.lesson(session)
	e.upload(lesson, recording("a")).want(202)
	require.NoError(t, e.work())
	e.upload(lesson, recording("b")).want(429, "daily_limit_reached").wantRetryAfter(left)

	e.do("POST", "/feedback-sessions/"+session+"/generate", nil).want(200)
	e.do("POST", "/feedback-sessions/"+session+"/generate", nil).
		want(429, "daily_limit_reached").wantRetryAfter(left)

	other := e.profile("Wei")
	e.do("POST", "/feedback-sessions", object{"profile_id": other}).
		want(429, "daily_limit_reached").wantRetryAfter(left)
}

// An upload that is refused is not read, in either form.
func TestRefusedUploadIsNotRead(t *testing.T) {
	e := newEnv(t)
	lesson := e.lesson(e.session(e.profile("Ming")))
	e.upload(lesson, recording("a")).want(202)
	e.serve(func(c *feedback.Config, _ *feedbackhttp.Config) { c.Limits.Segments = 1 })
	for _, contentType := range []string{"audio/mpeg", "multipart/form-data; boundary=b"} {
		body := &counter{}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/feedback-lessons/"+lesson+"/segments", body)
		r.Header.Set("Content-Type", contentType)
		e.send(r).want(429)
		require.Zero(t, body.n, contentType)
	}
}
