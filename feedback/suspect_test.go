package feedback_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// A recording that stops the transcriber is delayed, longer each time, and fails in the end; the
// teacher can retry it.
func TestSuspectRecordingIsDelayedAndFailsTheFifthTime(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := newEnv(t, func(c *feedback.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	seg, task := e.add(e.lesson(), "x")
	e.speech.answer = says("", fault{suspect: true, public: "the recogniser was lost", code: "recogniser_lost"})
	attempt := feedback.Attempt{LeaseToken: "lease", Number: 1, MaxAttempts: 1}
	for n, want := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour} {
		err := e.RunTask(t.Context(), task, attempt)
		var r interface{ RetryAfter() time.Duration }
		require.ErrorAs(t, err, &r)
		require.InEpsilon(t, want, r.RetryAfter(), 0.2, "suspicion %d", n+1)
		got := e.get(seg)
		require.Equal(t, feedback.SegmentQueued, got.State)
		require.Equal(t, n+1, got.Suspicions)
		require.Zero(t, got.Attempts, "a suspicion is not an attempt")
		require.Equal(t, "the recogniser was lost", got.Error)
		require.Contains(t, log.String(), "segment_id="+seg.ID.String())
	}
	err := e.RunTask(t.Context(), task, attempt)
	var p interface{ Permanent() bool }
	require.True(t, errors.As(err, &p) && p.Permanent())
	require.Equal(t, feedback.SegmentFailed, e.get(seg).State)
	e.requireFailure(seg, "recogniser_lost", "the recogniser was lost")

	retried, err := e.RetrySegment(t.Context(), e.teacher, seg.ID, "")
	require.NoError(t, err)
	require.Zero(t, retried.Suspicions)
	e.speech.answer = says("hello", nil)
	require.NoError(t, e.RunTask(t.Context(), e.take()[0], attempt))
	require.Equal(t, feedback.SegmentTranscribed, e.get(seg).State)
}

func TestSuspectRecordingRunsAlone(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	suspect, poison := e.add(l, "poison")
	e.speech.answer = says("", fault{suspect: true})
	require.Error(t, e.run(poison))
	tasks := []feedback.Task{poison}
	for i := range 5 {
		_, task := e.add(l, strconv.Itoa(i))
		tasks = append(tasks, task)
	}
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		alone := false
		e.speech.answer = func(_ context.Context, a feedback.Audio) (feedback.Transcript, error) {
			running.Add(1)
			defer running.Add(-1)
			time.Sleep(time.Second) // so that others could start
			if bytes.Contains(readAll(t, a), []byte("poison")) {
				alone = running.Load() == 1
			}
			return feedback.Transcript{Text: "x"}, nil
		}
		var wait sync.WaitGroup
		for i, task := range tasks {
			wait.Go(func() {
				attempt := feedback.Attempt{LeaseToken: strconv.Itoa(i), Number: 1}
				assert.NoError(t, e.RunTask(t.Context(), task, attempt))
			})
		}
		wait.Wait()
		require.True(t, alone)
	})
	require.Equal(t, feedback.SegmentTranscribed, e.get(suspect).State)
}

// A worker that stops while a suspect recording waits to run alone costs nothing.
func TestStopWhileWaitingToRunAloneCostsNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	suspect, poison := e.add(l, "poison")
	e.speech.answer = says("", fault{suspect: true})
	require.Error(t, e.run(poison))
	_, other := e.add(l, "other")
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) {
			err := e.RunTask(ctx, poison, feedback.Attempt{LeaseToken: "q", Number: 2})
			require.ErrorIs(t, err, context.Canceled)
			return feedback.Transcript{Text: "x"}, nil
		}
		require.NoError(t, e.RunTask(t.Context(), other, feedback.Attempt{LeaseToken: "o", Number: 1}))
	})
	got := e.get(suspect)
	require.Equal(t, feedback.SegmentQueued, got.State)
	require.Equal(t, 1, got.Suspicions)
	require.Equal(t, 1, got.Attempts)
}

func TestRetryDelayIsSpreadOverHours(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for failures, want := range []time.Duration{
		time.Minute, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour, 8 * time.Hour,
	} {
		require.InEpsilon(t, want, e.RetryDelay(failures), 0.2, failures)
	}
	first, second := e.RetryDelay(5), e.RetryDelay(5)
	require.NotEqual(t, first, second, "jitter")
}
