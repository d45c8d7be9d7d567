package feedbackhttp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLessonFromRecordingToRecord is the main way through the whole service.
func TestLessonFromRecordingToRecord(t *testing.T) {
	engines(t, func(t *testing.T, e *env) {
		profile := e.profile("Ming")
		session := e.session(profile)
		lesson := e.lesson(session)
		segment := e.upload(lesson, recording("b"), part{name: "sequence", value: "1"}).want(202).str("segment_id")
		e.upload(lesson, part{name: "sequence", value: "0"}, recording("a")).want(202)
		require.NoError(t, e.work())

		got := e.do("GET", "/audio-segments/"+segment, nil).want(200)
		require.Equal(t, "transcribed", got.str("state"))
		require.Equal(t, "Said b.", got.str("text"))
		require.Equal(t, []any{object{"text": "Said b.", "start_ms": 0.0, "end_ms": 1200.0, "doubtful": false}},
			got.json["sentences"])
		finished := e.do("POST", "/feedback-lessons/"+lesson+"/finish", nil).want(200)
		require.Equal(t, "finished", finished.str("state"))
		require.Equal(t, "Said a.\nSaid b.", finished.str("transcript"))
		require.Equal(t, 2.0, finished.json["summary"].(object)["transcribed"])
		e.upload(lesson, recording("c")).want(202) // uploads often trail the finish
		e.now.Add(time.Hour)
		again := e.do("POST", "/feedback-lessons/"+lesson+"/finish", nil).want(200)
		require.Equal(t, object{"total": 3.0, "queued": 1.0, "transcribing": 0.0, "transcribed": 2.0, "failed": 0.0},
			again.json["summary"])
		require.Equal(t, finished.str("finished_at"), again.str("finished_at"))

		text := e.do("POST", "/feedback-sessions/"+session+"/generate", nil).want(200).str("text")
		require.Equal(t, "[Said a.\nSaid b.]", text)
		e.do("PUT", "/feedback-sessions/"+session, object{"feedback_text": "mine"}).want(200)
		e.do("POST", "/feedback-records", object{"profile_id": profile, "feedback_date": "2026-05-31",
			"content": "mine", "feedback_session_id": session}).want(201)
		e.do("GET", "/feedback-sessions/active?profile_id="+profile, nil).want(404, "no_active_session")

		e.do("DELETE", "/profiles/"+profile, nil).want(204)
		require.NoError(t, e.work())
		require.Empty(t, e.files())
	})
}
