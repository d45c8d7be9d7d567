package feedbackhttp_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
)

// TestServiceWithoutOutboxTakesNoRecordings: everything else works.
func TestServiceWithoutOutboxTakesNoRecordings(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "f.db")
	e := newEnvOn(t, url)
	store, err := sqlstore.Open(t.Context(), url, nil)
	require.NoError(t, err)
	defer store.Close()
	e.serve(func(c *feedback.Config, _ *feedbackhttp.Config) { c.Store = store })

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

// refusing is an audio store that refuses every recording.
type refusing struct {
	feedback.AudioStore
	err error
}

func (r refusing) Stage(context.Context, io.Reader, int64) (feedback.StagedAudio, error) {
	return nil, r.err
}

// TestErrorsOfAProgramsOwnStore: it may return a kind as it is, or an error without a message.
func TestErrorsOfAProgramsOwnStore(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	lesson := e.lesson(e.session(e.profile("Ming")))
	for _, c := range []struct {
		kind   error
		status int
		code   string
		after  string
	}{
		{feedback.ErrAudioEmpty, 422, "audio_empty", ""},
		{feedback.ErrAudioTooLarge, 413, "audio_too_large", ""},
		{feedback.ErrAudioType, 415, "not_audio", ""},
		{feedback.ErrStorageFull, 507, "storage_full", "60"},
		{feedback.ErrStorage, 503, "storage_unavailable", "5"},
	} {
		for form, err := range map[string]error{
			"bare": c.kind, "wrapped": fmt.Errorf("stage: %w", c.kind), "error": &feedback.Error{Kind: c.kind},
		} {
			e.serve(func(c *feedback.Config, _ *feedbackhttp.Config) { c.Audio = refusing{err: err} })
			a := e.upload(lesson, recording("x")).want(c.status, c.code)
			require.NotEmpty(t, a.str("detail"), "%s %v", form, c.kind)
			require.Equal(t, c.after, a.Header().Get("Retry-After"), "%s %v", form, c.kind)
		}
	}
}
