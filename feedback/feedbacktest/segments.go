package feedbacktest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func segmentsRepeated(t *testing.T, b *book) {
	l := b.lessonOf("Ming")
	session, err := b.Store.LessonSession(t.Context(), b.teacher, l.ID)
	require.NoError(t, err)
	require.Equal(t, l.SessionID, session)
	n := b.newSegment(l, 7, "a")
	first, created, err := b.Store.InsertSegment(t.Context(), n, false)
	require.NoError(t, err)
	require.True(t, created)
	n.Revision = first.Revision
	require.Equal(t, n, first)
	got, err := b.Store.Segment(t.Context(), b.teacher, n.ID)
	require.NoError(t, err)
	require.Equal(t, first, got)

	again, created, err := b.Store.InsertSegment(t.Context(), b.newSegment(l, 7, "a"), false)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first, again, "the same sequence and audio")
	_, _, err = b.Store.InsertSegment(t.Context(), b.newSegment(l, 7, "b"), false)
	require.ErrorIs(t, err, feedback.ErrSequenceTaken)
	again, created, err = b.Store.InsertSegment(t.Context(), b.newSegment(l, 0, "a"), true)
	require.NoError(t, err)
	require.False(t, created, "no sequence, the same audio in the lesson")
	require.Equal(t, first, again)
	_, created, err = b.Store.InsertSegment(t.Context(), b.newSegment(l, 8, "a"), false)
	require.NoError(t, err)
	require.True(t, created, "the same audio under another sequence, on purpose")
	_, _, err = b.Store.InsertSegment(t.Context(), b.newSegment(feedback.Lesson{ID: newID(), SessionID: l.SessionID}, 0, "a"), true)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.Len(t, b.Tasks(t), 2)

	// A phone that sends twice at once.
	other := b.lessonOf("Li")
	var mu sync.Mutex
	ids := map[uuid.UUID]bool{}
	for _, err := range all(8, func(int) error {
		s, _, err := b.Store.InsertSegment(t.Context(), b.newSegment(other, 0, "a"), false)
		mu.Lock()
		defer mu.Unlock()
		ids[s.ID] = true
		return err
	}) {
		require.NoError(t, err)
	}
	require.Len(t, ids, 1)
	require.Len(t, b.Tasks(t), 1)
}

func segmentsNumbers(t *testing.T, b *book) {
	l := b.lessonOf("Ming")
	sequences := make([]int, 8)
	for _, err := range all(8, func(i int) error {
		s, _, err := b.Store.InsertSegment(t.Context(), b.newSegment(l, 0, fmt.Sprint("sha", i)), true)
		sequences[i] = s.Sequence
		return err
	}) {
		require.NoError(t, err)
	}
	slices.Sort(sequences)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, sequences)
	b.segment(l, feedback.MaxSequence)
	_, _, err := b.Store.InsertSegment(t.Context(), b.newSegment(l, 0, "one too many"), true)
	require.Equal(t, "sequence", field(t, err))
}

func segmentsOutbox(t *testing.T, b *book) {
	l := b.lessonOf("Ming")
	g := b.segment(l, 0)
	b.round(g)
	b.FailOutbox(errOutbox)
	n := b.newSegment(l, 1, "x")
	_, _, err := b.Store.InsertSegment(t.Context(), n, false)
	require.ErrorIs(t, err, errOutbox)
	_, err = b.Store.Segment(t.Context(), b.teacher, n.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound, "no row without a task")
	b.FailOutbox(nil)
	_, _, err = b.Store.InsertSegment(t.Context(), n, false)
	require.NoError(t, err)
}

// round takes the one task that the outbox holds, for g, and returns its round.
func (b *book) round(g feedback.Segment) int64 {
	b.t.Helper()
	tasks := b.Tasks(b.t)
	require.Len(b.t, tasks, 1)
	require.Equal(b.t, feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: g.ID, Round: tasks[0].Round}, tasks[0])
	return tasks[0].Round
}

func (b *book) begin(g feedback.Segment, token string) feedback.Segment {
	b.t.Helper()
	g, err := b.Store.StartTranscription(b.t.Context(), g.ID, token, 1, b.tick())
	require.NoError(b.t, err)
	return g
}

func (b *book) end(g feedback.Segment, token string, o feedback.TranscriptionResult) feedback.Segment {
	b.t.Helper()
	g, err := b.Store.FinishTranscription(b.t.Context(), g.ID, token, o, b.tick())
	require.NoError(b.t, err)
	return g
}

func segmentsRetry(t *testing.T, b *book) {
	g := b.segment(b.lessonOf("Ming"), 0)
	round := b.round(g)
	retry := func() (feedback.Segment, error) { return b.Store.RetrySegment(t.Context(), b.teacher, g.ID, b.tick()) }
	_, err := retry()
	require.ErrorIs(t, err, feedback.ErrNotFailed, "queued")
	b.begin(g, "one")
	_, err = retry()
	require.ErrorIs(t, err, feedback.ErrNotFailed, "transcribing")
	failed := b.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentFailed, Error: "damaged", Attempts: 1})
	require.Equal(t, "damaged", failed.Error)

	b.FailOutbox(errOutbox)
	_, err = retry()
	require.ErrorIs(t, err, errOutbox)
	b.FailOutbox(nil)
	got, err := b.Store.Segment(t.Context(), b.teacher, g.ID)
	require.NoError(t, err)
	require.Equal(t, feedback.SegmentFailed, got.State)

	got, err = retry()
	require.NoError(t, err)
	require.Equal(t, feedback.SegmentQueued, got.State)
	require.Empty(t, got.Error)
	require.Zero(t, got.Attempts)
	require.Greater(t, got.Revision, failed.Revision)
	require.Greater(t, b.round(g), round)
	_, err = b.Store.RetrySegment(t.Context(), b.teacher, newID(), b.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
}

func transcriptionFence(t *testing.T, b *book) {
	g := b.segment(b.lessonOf("Ming"), 0)
	first := b.begin(g, "first")
	require.Equal(t, feedback.SegmentTranscribing, first.State)
	require.Equal(t, 1, first.Attempts)
	b.begin(g, "second") // the first worker lost its lease
	_, err := b.Store.FinishTranscription(t.Context(), g.ID, "first", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "late"}, b.tick())
	require.ErrorIs(t, err, feedback.ErrSuperseded)
	done := b.end(g, "second", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "说得好", Duration: 2345 * time.Millisecond, Attempts: 2})
	require.Equal(t, "说得好", done.Text)
	require.Equal(t, 2345*time.Millisecond, done.Duration)
	require.Equal(t, 2, done.Attempts)
	require.Equal(t, b.now, done.TranscribedAt)
	for _, token := range []string{"first", "second"} {
		_, err = b.Store.FinishTranscription(t.Context(), g.ID, token, feedback.TranscriptionResult{State: feedback.SegmentFailed}, b.tick())
		require.ErrorIs(t, err, feedback.ErrSuperseded)
	}
	got, err := b.Store.Segment(t.Context(), b.teacher, g.ID)
	require.NoError(t, err)
	require.Equal(t, done, got)
	_, err = b.Store.FinishTranscription(t.Context(), newID(), "x", feedback.TranscriptionResult{State: feedback.SegmentFailed}, b.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
}

func transcriptionFinished(t *testing.T, b *book) {
	g := b.segment(b.lessonOf("Ming"), 0)
	round := b.round(g)
	b.begin(g, "one")
	done := b.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "", Attempts: 1})
	require.Equal(t, g.Duration, done.Duration, "an unknown duration replaces none")
	require.Equal(t, done, b.begin(g, "two"))
	got, err := b.Store.FailTranscription(t.Context(), g.ID, round, "given up", b.tick())
	require.NoError(t, err)
	require.Equal(t, done, got)
	got, err = b.Store.Segment(t.Context(), b.teacher, g.ID)
	require.NoError(t, err)
	require.Equal(t, done, got)
}

func transcriptionAbandoned(t *testing.T, b *book) {
	l := b.lessonOf("Ming")
	queued := b.segment(l, 0)
	rounds := map[uuid.UUID]int64{queued.ID: b.round(queued)}
	busy := b.segment(l, 1)
	rounds[busy.ID] = b.round(busy)
	b.begin(busy, "one")
	again := b.segment(l, 2)
	rounds[again.ID] = b.round(again)
	b.begin(again, "one")
	b.end(again, "one", feedback.TranscriptionResult{State: feedback.SegmentQueued, Error: "given up", Attempts: 1})
	for _, g := range []feedback.Segment{queued, busy, again} {
		got, err := b.Store.FailTranscription(t.Context(), g.ID, rounds[g.ID], "given up", b.tick())
		require.NoError(t, err)
		require.Equal(t, feedback.SegmentFailed, got.State)
		require.Equal(t, "given up", got.Error)
	}
	_, err := b.Store.FinishTranscription(t.Context(), busy.ID, "one", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "late"}, b.tick())
	require.ErrorIs(t, err, feedback.ErrSuperseded)
	_, err = b.Store.FailTranscription(t.Context(), newID(), 1, "given up", b.tick())
	require.ErrorIs(t, err, feedback.ErrNotFound)
}

func transcriptionRetried(t *testing.T, b *book) {
	g := b.segment(b.lessonOf("Ming"), 0)
	first := b.round(g)
	b.begin(g, "one")
	b.end(g, "one", feedback.TranscriptionResult{State: feedback.SegmentFailed, Error: "damaged", Attempts: 1})
	_, err := b.Store.RetrySegment(t.Context(), b.teacher, g.ID, b.tick())
	require.NoError(t, err)
	second := b.round(g)
	stays := func(want feedback.Segment) {
		got, err := b.Store.FailTranscription(t.Context(), g.ID, first, "given up", b.tick())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := b.Store.Segment(t.Context(), b.teacher, g.ID)
	require.NoError(t, err)
	stays(got)
	stays(b.begin(g, "two"))
	stays(b.end(g, "two", feedback.TranscriptionResult{State: feedback.SegmentQueued, Error: "broke off", Attempts: 1}))
	got, err = b.Store.FailTranscription(t.Context(), g.ID, second, "given up", b.tick())
	require.NoError(t, err)
	require.Equal(t, feedback.SegmentFailed, got.State)
}

func transcriptionStuck(t *testing.T, b *book) {
	l := b.lessonOf("Ming")
	queued, stuck, done := b.segment(l, 0), b.segment(l, 1), b.segment(l, 2)
	b.begin(stuck, "one")
	b.begin(done, "one")
	b.end(done, "one", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "x"})
	before := b.tick()
	fresh := b.segment(l, 3)
	b.begin(fresh, "one")
	b.Tasks(t)
	got, err := b.Store.RequeueStuck(t.Context(), before, b.tick())
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, stuck.ID, got[0].ID)
	require.Equal(t, feedback.SegmentQueued, got[0].State)
	b.round(stuck)
	_, err = b.Store.FinishTranscription(t.Context(), stuck.ID, "one", feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "late"}, b.tick())
	require.ErrorIs(t, err, feedback.ErrSuperseded)
	_, err = b.Store.StartTranscription(t.Context(), queued.ID, "two", 1, b.tick())
	require.NoError(t, err)
}

func audioInUse(t *testing.T, b *book) {
	l := b.lessonOf("Ming")
	first, second := b.segment(l, 0), b.segment(l, 1)
	got, err := b.Store.AudioInUse(t.Context(), []string{first.AudioKey, "gone", `o'dd"`, second.AudioKey})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{first.AudioKey, second.AudioKey}, got)
	got, err = b.Store.AudioInUse(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}
