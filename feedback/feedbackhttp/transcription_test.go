package feedbackhttp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackgroundTranscription(t *testing.T) {
	rules{
		"upload, row and queue entry commit together or not at all": func(t *testing.T, e *env) {
			lesson := e.lesson(e.session(e.profile("Ming")))
			_, err := e.db.Exec(`drop table test_jobs`)
			require.NoError(t, err)
			require.GreaterOrEqual(t, e.upload(lesson, recording("x")).Code, 500)
			require.Zero(t, e.count("feedback_segments"))
		},
		"a recogniser that is away costs no attempt": func(t *testing.T, e *env) {
			id := e.upload(e.lesson(e.session(e.profile("Ming"))), recording("x")).want(202).str("segment_id")
			e.speech.fail(fault{after: time.Minute, public: "the recogniser is loading"})
			require.Len(t, filterNil(e.work()), 1)
			a := e.do("GET", "/audio-segments/"+id, nil).want(200)
			require.Equal(t, []any{"queued", 0.0, "the recogniser is loading"},
				[]any{a.json["state"], a.json["attempts"], a.json["error"]})
		},
		"other faults never show addresses": func(t *testing.T, e *env) {
			id := e.upload(e.lesson(e.session(e.profile("Ming"))), recording("x")).want(202).str("segment_id")
			e.speech.fail(errOrdinary)
			require.Len(t, filterNil(e.work()), 1)
			a := e.do("GET", "/audio-segments/"+id, nil).want(200)
			require.Equal(t, []any{"queued", 1.0}, []any{a.json["state"], a.json["attempts"]})
			require.NotContains(t, a.Body.String(), "10.0.0.1")
		},
	}.check(t)
}
