package feedback_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// provider is a transcriber that pays for each task it creates, and waits for the tasks it knows.
type provider struct {
	paid   int
	killed string // the step at which the process dies
}

var errKilled = errors.New("killed")

func (p *provider) answer(ctx context.Context, a feedback.Audio) (feedback.Transcript, error) {
	die := func(step string) {
		if p.killed == step {
			p.killed = ""
			panic(errKilled)
		}
	}
	die("before the task")
	task := a.Task
	if task == "" {
		p.paid++
		task = fmt.Sprint("task/", p.paid)
		if err := a.SaveTask(ctx, task); err != nil {
			return feedback.Transcript{}, err
		}
	}
	die("while waiting")
	return feedback.Transcript{Text: task, Duration: time.Second}, nil
}

// A process that dies at any step leaves the task of the transcriber to its successor, which does
// not pay again.
func TestRestartResumesTheTaskOfTheRecognizer(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"before the task", "while waiting"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			seg, task := e.add(e.lesson(), "x")
			p := &provider{killed: step}
			e.speech.answer = p.answer
			require.PanicsWithValue(t, errKilled, func() {
				_ = e.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "dies", Number: 1, MaxAttempts: 3})
			})
			require.Equal(t, feedback.SegmentTranscribing, e.get(seg).State)
			again := e.service() // another process
			require.NoError(t, again.RunTask(t.Context(), task, feedback.Attempt{LeaseToken: "next", Number: 2}))
			require.Equal(t, "task/1", e.get(seg).Text)
			require.Equal(t, 1, p.paid)
			require.Empty(t, e.get(seg).RecognizerTask)
		})
	}
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
