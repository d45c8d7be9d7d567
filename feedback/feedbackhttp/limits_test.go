package feedbackhttp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp"
)

func TestDailyLimitsAreAnswered(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.serve(func(c *feedback.Config, _ *feedbackhttp.Config) { c.Limits.Segments = 1 })
	lesson := e.lesson(e.session(e.profile("Ming")))
	e.upload(lesson, recording("a")).want(202)
	refused := e.upload(lesson, recording("b")).want(429, "daily_limit_reached")
	require.Equal(t, "54000", refused.Header().Get("Retry-After"), "the rest of the day of the test's clock")
}
