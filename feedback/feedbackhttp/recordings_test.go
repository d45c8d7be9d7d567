package feedbackhttp_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
)

// TestServiceWithoutOutboxTakesNoRecordings: everything else works.
func TestServiceWithoutOutboxTakesNoRecordings(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "f.db")
	e := newEnv(t, url)
	store, err := sqlstore.Open(t.Context(), url, nil)
	require.NoError(t, err)
	defer store.Close()
	audio, err := audiodir.New(e.audioDir)
	require.NoError(t, err)
	svc, err := feedback.New(feedback.Config{Store: store, Audio: audio})
	require.NoError(t, err)
	e.handler = feedbackhttp.Handler(feedbackhttp.Config{Service: svc, Authenticate: teacherOf})

	profile := e.profile("Ming")
	session := e.session(profile)
	lesson := e.lesson(session)
	a := e.upload(lesson, recording("x")).want(501, "recordings_not_supported")
	require.Contains(t, a.str("detail"), "no queue")
	require.Empty(t, e.files())
	require.Zero(t, e.count("feedback_segments"))
	e.do("POST", "/feedback-records", object{"profile_id": profile, "feedback_date": "2026-05-31", "content": "x",
		"feedback_session_id": session}).want(201)
	e.do("DELETE", "/profiles/"+profile, nil).want(204)
}
