package feedback_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// A process that dies leaves the task of the transcriber to its successor, which does not pay
// again.
func TestRestartResumesTheTaskOfTheRecognizer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	seg, task := e.add(e.lesson(), "x")
	e.speech.answer = func(ctx context.Context, a feedback.Audio) (feedback.Transcript, error) {
		require.Empty(t, a.Task)
		require.NoError(t, a.SaveTask(ctx, "task/1"))
		panic("killed")
	}
	require.PanicsWithValue(t, "killed", func() { _ = e.run(task) })
	require.Equal(t, feedback.SegmentTranscribing, e.get(seg).State)
	e.speech.answer = func(_ context.Context, a feedback.Audio) (feedback.Transcript, error) {
		return feedback.Transcript{Text: "of " + a.Task}, nil
	}
	again := e.service() // another process
	require.NoError(t, again.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "next", Number: 2}))
	require.Equal(t, "of task/1", e.get(seg).Text)
	require.Empty(t, e.get(seg).RecognizerTask)
}

func TestEmptyTextOfALongRecordingIsSaid(t *testing.T) {
	t.Parallel()
	for duration, want := range map[time.Duration]string{
		0: "", 2 * time.Second: "", 3 * time.Second: "no speech was recognised",
	} {
		s := feedback.Segment{TranscribedAt: time.Unix(1, 0), Duration: duration}
		require.Equal(t, want, s.Warning(), duration)
		s.Text = "hello"
		require.Empty(t, s.Warning())
	}
	require.Empty(t, feedback.Segment{Duration: time.Minute}.Warning())
}
