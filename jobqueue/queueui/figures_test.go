package queueui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/queueui"
)

func TestFigures(t *testing.T) {
	s := setup(t, queueui.Config{Prefix: "/q"})
	first := s.page("/q/", `href="/q/figures?queue=transcribe"`)
	require.Equal(t, 3, strings.Count(first, ">Figures</a>"), "one of each queue")
	empty := s.page("/q/figures?queue=nightly", "Jobs that ended: 0", "Last week", `points="0,100.0 10,100.0`)
	require.NotContains(t, empty, "95 of 100 waited")

	m := driver.Minute{Queue: "a&b", Finished: 1200, Failed: 3}
	m.Waits[20] = 1200
	require.NoError(t, s.store.AddMinutes(t.Context(), []driver.Minute{m}))
	for span, step := range map[string]string{"hour": "1 min", "day": "15 min", "week": "2 h"} {
		s.page("/q/figures?queue=a%26b&last="+span, "<h1>a&amp;b</h1>", "1\u202F200", "3 failed",
			"In the worst "+step+", 95 of 100 waited at most 861 ms", ",0.0",
			`aria-current="page" href="/q/figures?queue=a%26b&amp;last=`+span)
	}
	require.Equal(t, http.StatusBadRequest, s.do("GET", "/q/figures").Code)
}
