package feedback_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func TestFailureHasACodeBesideItsText(t *testing.T) {
	t.Parallel()
	t.Run("the recording is gone", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		seg, task := e.add(e.lesson(), "x")
		files := e.files()
		for _, file := range files {
			require.NoError(t, os.Rename(file, file+".away"))
		}
		e.speech.answer = func(_ context.Context, a feedback.Audio) (feedback.Transcript, error) {
			f, err := a.Open()
			if err == nil {
				err = f.Close()
			}
			return feedback.Transcript{}, err
		}
		require.Error(t, e.run(task))
		e.requireFailure(seg, "recording_missing", "the recording is not found at the moment")
		require.Equal(t, feedback.SegmentQueued, e.get(seg).State)
		for _, file := range files { // an operator mounts the directory
			require.NoError(t, os.Rename(file+".away", file))
		}
		require.NoError(t, e.run(task))
		require.Equal(t, feedback.SegmentTranscribed, e.get(seg).State)
	})
	t.Run("given up, cancelled, retried", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		seg, task := e.add(e.lesson(), "x")
		require.NoError(t, e.FailTask(t.Context(), task))
		e.requireFailure(seg, "transcription_interrupted", "the transcription was interrupted")
		_, err := e.RetrySegment(t.Context(), e.teacher, seg.ID, "")
		require.NoError(t, err)
		require.NoError(t, e.CancelTask(t.Context(), task), "the task of the retry is another one")
		require.NoError(t, e.FailTask(t.Context(), task))
		err = e.run(task)
		require.ErrorIs(t, err, feedback.ErrSuperseded)
		var p interface{ Permanent() bool }
		require.True(t, errors.As(err, &p) && p.Permanent(), "no later attempt can do it")
		require.Empty(t, e.get(seg).ErrorCode)
		require.NoError(t, e.CancelTask(t.Context(), e.take()[0]))
		e.requireFailure(seg, "transcription_cancelled", "the transcription was cancelled; it can be retried")
		deleted := feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: uuid.New()}
		require.NoError(t, e.FailTask(t.Context(), deleted))
		require.NoError(t, e.FailTask(t.Context(), feedback.Task{Kind: feedback.TaskDeleteAudio, AudioKey: "x"}))
	})
}

// requireFailure checks why the last attempt at a segment failed.
func (e *env) requireFailure(s feedback.Segment, code, text string) {
	e.t.Helper()
	got := e.get(s)
	require.Equal(e.t, code, got.ErrorCode)
	require.Equal(e.t, text, got.Error)
	require.Contains(e.t, feedback.FailureCodes(), code)
}
