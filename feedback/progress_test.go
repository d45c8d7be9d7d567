package feedback_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// takes lets each transcription of a recording of 10 seconds take a time.
func (e *env) takes(work time.Duration) {
	e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) {
		e.clock.Add(work)
		return feedback.Transcript{Text: "hello", Duration: 10 * time.Second}, nil
	}
}

func TestProgressOfUnfinishedSegments(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	first, firstTask := e.add(l, "1")
	second, secondTask := e.add(l, "2")
	third, _ := e.add(l, "3")
	require.Equal(t, &feedback.Progress{}, e.get(first).Progress, "the speed is not known yet")
	require.Equal(t, &feedback.Progress{Ahead: 2}, e.get(third).Progress)

	e.takes(5 * time.Second)
	require.NoError(t, e.run(firstTask))
	require.Nil(t, e.get(first).Progress, "transcribed")

	// Recordings of unknown duration take as long as the average.
	five, ten := feedback.Progress{Wait: 5 * time.Second}, feedback.Progress{Ahead: 1, Wait: 10 * time.Second}
	progress := func(segments []feedback.Segment) map[uuid.UUID]feedback.Progress {
		found := map[uuid.UUID]feedback.Progress{}
		for _, g := range segments {
			if g.Progress != nil {
				found[g.ID] = *g.Progress
			}
		}
		return found
	}
	want := map[uuid.UUID]feedback.Progress{second.ID: five, third.ID: ten}
	session := e.whole(l)
	require.Equal(t, want, progress(session.Lessons[0].Segments))
	active, err := e.ActiveSession(t.Context(), e.teacher, session.ProfileID)
	require.NoError(t, err)
	require.Equal(t, want, progress(active.Lessons[0].Segments))
	list, err := e.Segments(t.Context(), e.teacher, l.ID, feedback.Page{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, want, progress(list.Items))
	var events []feedback.Segment
	for event, err := range e.Events(t.Context(), e.teacher, l.SessionID, 0) {
		require.NoError(t, err)
		if event.Segment != nil {
			events = append(events, *event.Segment)
		}
		if len(events) == 3 {
			break
		}
	}
	require.Equal(t, want, progress(events))

	e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) {
		require.Equal(t, want, progress([]feedback.Segment{e.get(second), e.get(third)}), "while it is transcribed")
		return feedback.Transcript{}, fault{after: time.Minute, public: "not available"}
	}
	require.Error(t, e.run(secondTask))
	require.Equal(t, &feedback.Progress{}, e.get(second).Progress, "the next attempt is delayed")
}

func TestEstimateFollowsDurationAndRecentSpeed(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	e.takes(time.Second)
	for i := range 30 {
		_, task := e.add(l, strconv.Itoa(i))
		require.NoError(t, e.run(task))
	}
	// The test's recordings are short; the estimate is for the duration that the sender gives.
	seg, _ := e.addOf(l, "long", time.Hour)
	require.InDelta(t, 6*time.Minute, e.get(seg).Progress.Wait, float64(time.Second))

	e.takes(10 * time.Second)
	for i := range 30 {
		_, task := e.add(l, "slow"+strconv.Itoa(i))
		require.NoError(t, e.run(task))
	}
	wait := e.get(seg).Progress.Wait
	require.Greater(t, wait, 50*time.Minute, "the recogniser has become slower")
	require.LessOrEqual(t, wait, time.Hour)

	e.Service = e.service(func(c *feedback.Config) { c.Paused = func(context.Context) bool { return true } })
	require.Equal(t, &feedback.Progress{Paused: true}, e.get(seg).Progress)
}

// With very many recordings ahead, neither their number nor the wait is counted to the end.
func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	unfinished := make([]feedback.UnfinishedSegment, 1000)
	for i := range unfinished {
		unfinished[i] = feedback.UnfinishedSegment{ID: uuid.New(), State: feedback.SegmentQueued,
			Duration: time.Minute}
	}
	e := newEnv(t)
	l := e.lesson()
	_, task := e.add(l, "0")
	e.takes(time.Second)
	require.NoError(t, e.run(task))
	seg, _ := e.add(l, "1")
	reads := 0
	e.Service = e.service(func(c *feedback.Config) {
		c.Store = crowded{Store: c.Store, unfinished: unfinished, reads: &reads}
	})
	require.Equal(t, &feedback.Progress{Ahead: 1000}, e.get(seg).Progress)
	require.Equal(t, 1, reads)

	e.get(feedback.Segment{ID: task.SegmentID})
	require.Equal(t, 1, reads, "a finished segment needs no look at the others")
	_, err := e.EditSegment(t.Context(), e.teacher, seg.ID, feedback.SegmentEdit{Text: new("mended")})
	require.NoError(t, err)
	require.Equal(t, 1, reads, "an edit that is stored cannot fail because of them")
}

// crowded is a store with many recordings of other teachers.
type crowded struct {
	feedback.Store
	unfinished []feedback.UnfinishedSegment
	reads      *int
}

func (c crowded) Unfinished(_ context.Context, limit int) ([]feedback.UnfinishedSegment, error) {
	*c.reads++
	return c.unfinished[:limit], nil
}
