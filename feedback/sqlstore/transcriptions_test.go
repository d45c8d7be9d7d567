package sqlstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func transcriptionSuspicions(t *testing.T, f *fixture) {
	g := f.segment(f.lessonOf("Ming"), 0)
	f.begin(g, "one")
	suspect := f.end(g, "one",
		feedback.TranscriptionResult{State: feedback.SegmentQueued, Error: "lost", Suspicions: 2})
	require.Equal(t, 2, suspect.Suspicions)
	require.Equal(t, 2, f.begin(g, "two").Suspicions)
	f.end(g, "two", feedback.TranscriptionResult{State: feedback.SegmentFailed, Error: "lost", Suspicions: 3})
	require.Equal(t, 3, f.get(g).Suspicions)
	require.Zero(t, f.begin(g, "the queue's retry").Suspicions)
	f.end(g, "the queue's retry", feedback.TranscriptionResult{State: feedback.SegmentFailed, Suspicions: 1})
	got, err := f.Store.RetrySegment(t.Context(), f.teacher, g.ID, "", f.tick())
	require.NoError(t, err)
	require.Zero(t, got.Suspicions)
}

func transcriptionTask(t *testing.T, f *fixture) {
	g := f.segment(f.lessonOf("Ming"), 0)
	f.begin(g, "one")
	save := func(token, task string) error {
		return f.Store.SaveRecognizerTask(t.Context(), g.ID, token, task, f.tick())
	}
	require.NoError(t, save("one", "task/1"))
	require.Equal(t, "task/1", f.begin(g, "two").RecognizerTask, "the next attempt resumes the task")
	require.ErrorIs(t, save("one", "task/2"), feedback.ErrSuperseded)
	require.ErrorIs(t, f.Store.SaveRecognizerTask(t.Context(), newID(), "one", "x", f.tick()), feedback.ErrNotFound)
	require.Equal(t, "task/1", f.end(g, "two",
		feedback.TranscriptionResult{State: feedback.SegmentFailed, Error: "lost", Attempts: 1}).RecognizerTask)
	_, err := f.Store.RetrySegment(t.Context(), f.teacher, g.ID, "", f.tick())
	require.NoError(t, err)
	require.Equal(t, "task/1", f.begin(g, "three").RecognizerTask, "so does a retry by the teacher")
	done := f.end(g, "three", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "x", Attempts: 1})
	require.Empty(t, done.RecognizerTask)
	require.ErrorIs(t, save("three", "task/3"), feedback.ErrSuperseded)
}

func transcriptionFence(t *testing.T, f *fixture) {
	g := f.segment(f.lessonOf("Ming"), 0)
	first := f.begin(g, "first")
	require.Equal(t, feedback.SegmentTranscribing, first.State)
	require.Equal(t, 1, first.Attempts)
	f.begin(g, "second") // the first worker lost its lease
	require.ErrorIs(t, f.late(g, "first"), feedback.ErrSuperseded)
	done := f.end(g, "second", feedback.TranscriptionResult{
		State: feedback.SegmentTranscribed, Text: "说得好", Duration: 2345 * time.Millisecond, Attempts: 2})
	require.Equal(t, "说得好", done.Text)
	require.Equal(t, 2345*time.Millisecond, done.Duration)
	require.Equal(t, 2, done.Attempts)
	require.Equal(t, f.now, done.TranscribedAt)
	for _, token := range []string{"first", "second"} {
		require.ErrorIs(t, f.late(g, token), feedback.ErrSuperseded)
	}
	require.Equal(t, done, f.get(g))
	require.ErrorIs(t, f.late(feedback.Segment{ID: newID()}, "x"), feedback.ErrNotFound)
}

// late finishes an attempt that does not hold the segment.
func (f *fixture) late(g feedback.Segment, token string) error {
	return errorOf(f.Store.FinishTranscription(f.t.Context(), g.ID, token,
		feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "late"}, f.tick()))
}

// giveUp is what happens when a queue gives a task up.
func (f *fixture) giveUp(g feedback.Segment, round int64) feedback.Segment {
	f.t.Helper()
	g, err := f.Store.FailTranscription(f.t.Context(), g.ID, round, "code", "given up", true, f.tick())
	require.NoError(f.t, err)
	return g
}

func transcriptionFinished(t *testing.T, f *fixture) {
	g := f.segment(f.lessonOf("Ming"), 0)
	round := f.round(g)
	f.begin(g, "one")
	done := f.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "", Attempts: 1})
	require.Equal(t, g.Duration, done.Duration, "an unknown duration does not replace a known one")
	require.Equal(t, done, f.begin(g, "two"))
	require.Equal(t, done, f.giveUp(g, round))
	require.Equal(t, done, f.get(g))
}

func transcriptionFailed(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	queued, busy, again, other := f.segment(l, 0), f.segment(l, 1), f.segment(l, 2), f.segment(l, 3)
	f.begin(busy, "one")
	for _, g := range []feedback.Segment{again, other} {
		f.begin(g, "one")
		f.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentQueued, Error: "no answer",
			ErrorCode: "lost", Attempts: 1})
	}
	cancel := func(g feedback.Segment) feedback.Segment {
		g, err := f.Store.FailTranscription(t.Context(), g.ID, anyRound, "code", "cancelled", false, f.tick())
		require.NoError(t, err)
		return g
	}
	for _, c := range []struct {
		segment    feedback.Segment
		code, text string
	}{{queued, "code", "given up"}, {busy, "code", "given up"}, {again, "lost", "no answer"}} {
		before := f.whole(l.SessionID)
		failed := f.giveUp(c.segment, anyRound)
		require.Equal(t, []any{feedback.SegmentFailed, c.code, c.text},
			[]any{failed.State, failed.ErrorCode, failed.Error})
		require.Equal(t, failed, cancel(c.segment), "a failed segment is left as it is")
		require.Equal(t, before.Revision+1, f.whole(l.SessionID).Revision, "the second call changes nothing")
	}
	got := cancel(other)
	require.Equal(t, []string{"code", "cancelled"}, []string{got.ErrorCode, got.Error})
	require.ErrorIs(t, f.late(busy, "one"), feedback.ErrSuperseded)
	_, err := f.Store.FailTranscription(t.Context(), newID(), 1, "code", "given up", true, f.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
}

func transcriptionRetried(t *testing.T, f *fixture) {
	g := f.segment(f.lessonOf("Ming"), 0)
	first := f.round(g)
	f.begin(g, "one")
	f.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentFailed, Error: "damaged", Attempts: 1})
	_, err := f.Store.RetrySegment(t.Context(), f.teacher, g.ID, "", f.tick())
	require.NoError(t, err)
	second := f.round(g)
	stays := func(want feedback.Segment) {
		t.Helper()
		require.Equal(t, want, f.giveUp(g, first))
	}
	stays(f.get(g))
	_, err = f.Store.StartTranscription(t.Context(), g.ID, first, "late", 1, f.tick())
	require.ErrorIs(t, err, feedback.ErrSuperseded, "the task of the first round runs again")
	stays(f.begin(g, "two"))
	stays(f.end(g, "two", feedback.TranscriptionResult{State: feedback.SegmentQueued, Error: "broke off",
		Attempts: 1}))
	require.Equal(t, feedback.SegmentFailed, f.giveUp(g, second).State)

	_, err = f.Store.StartTranscription(t.Context(), g.ID, first, "late", 1, f.tick())
	require.ErrorIs(t, err, feedback.ErrSuperseded, "the task of the first round runs again")
	got, err := f.Store.StartTranscription(t.Context(), g.ID, second, "three", 1, f.tick())
	require.NoError(t, err, "the newest task runs again")
	require.Equal(t, feedback.SegmentTranscribing, got.State)
	require.Empty(t, got.Error)
	require.Equal(t, "heard", f.end(got, "three",
		feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "heard", Attempts: 1}).Text)
}

func transcriptionStuck(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	queued, stuck, done := f.segment(l, 0), f.segment(l, 1), f.segment(l, 2)
	f.begin(stuck, "one")
	f.begin(done, "one")
	f.end(done, "one", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "x"})
	before := f.tick()
	fresh := f.segment(l, 3)
	f.begin(fresh, "one")
	f.Tasks(t)
	got, err := f.Store.RequeueStuck(t.Context(), before, f.tick())
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, stuck.ID, got[0].ID)
	require.Equal(t, feedback.SegmentQueued, got[0].State)
	f.round(stuck)
	require.ErrorIs(t, f.late(stuck, "one"), feedback.ErrSuperseded)
	_, err = f.Store.StartTranscription(t.Context(), queued.ID, anyRound, "two", 1, f.tick())
	require.NoError(t, err)
}

func audioInUse(t *testing.T, f *fixture) {
	l := f.lessonOf("Ming")
	first, second := f.segment(l, 0), f.segment(l, 1)
	got, err := f.Store.AudioInUse(t.Context(), []string{first.AudioKey, "gone", `o'dd"`, second.AudioKey})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{first.AudioKey, second.AudioKey}, got)
	got, err = f.Store.AudioInUse(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}
