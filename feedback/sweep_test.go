package feedback_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbacktest"
)

// lostAnswer is a store whose InsertSegment fails after its commit, or without one.
type lostAnswer struct {
	feedback.Store
	commits bool
	err     error
}

func (s *lostAnswer) InsertSegment(
	ctx context.Context, seg feedback.Segment, next bool,
) (feedback.Segment, bool, error) {
	if s.commits {
		if _, _, err := s.Store.InsertSegment(ctx, seg, next); err != nil {
			return seg, false, err
		}
	}
	return seg, false, s.err
}

// losing returns a service whose database is lost when a segment is inserted.
func (e *env) losing(commits bool, change ...func(*feedback.Config)) *feedback.Service {
	return e.service(append(change, func(c *feedback.Config) {
		c.Store = &lostAnswer{e.store, commits,
			&feedback.Error{Kind: feedback.ErrUnavailable, Err: errors.New("connection lost")}}
	})...)
}

// lose uploads a recording that is lost.
func lose(e *env, s *feedback.Service, l feedback.Lesson, marker string) {
	e.t.Helper()
	_, _, err := s.AddSegment(e.t.Context(), e.teacher, l.ID, bytes.NewReader(feedbacktest.MP3(marker)),
		feedback.SegmentInput{})
	require.ErrorIs(e.t, err, feedback.ErrUnavailable)
}

func TestSweepDeletesAudioWithoutASegment(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.clock.Add(time.Since(e.clock.Now())) // files have the real time
	l := e.lesson()
	lose(e, e.losing(true), l, "committed")
	lose(e, e.losing(false), l, "lost")
	require.Len(t, e.files(), 2, "either may have been committed")
	require.NoError(t, e.Sweep(t.Context()))
	e.clock.Add(23 * time.Hour)
	require.NoError(t, e.Sweep(t.Context()))
	require.Len(t, e.files(), 2, "an upload may be in progress, or the clock of the storage be another")
	e.clock.Add(2 * time.Hour)
	require.NoError(t, e.Sweep(t.Context()))
	require.Len(t, e.files(), 1)
	b, err := os.ReadFile(e.files()[0])
	require.NoError(t, err)
	require.Equal(t, feedbacktest.MP3("committed"), b)
}

// undeletable is a store whose first calls of Delete fail.
type undeletable struct {
	feedback.AudioStore
	fails, calls int
}

func (s *undeletable) Delete(ctx context.Context, key string) error {
	if s.calls++; s.calls <= s.fails {
		return errors.New("permission denied")
	}
	return s.AudioStore.Delete(ctx, key)
}

func TestSweepGoesOnAfterAudioThatCannotBeDeleted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ used, orphans, fails, calls, left int }{
		"one":  {0, 3, 1, 3, 1},
		"many": {36, 12, 12, 10, 48},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			e.clock.Add(time.Since(e.clock.Now())) // files have the real time
			l := e.lesson()
			for i := range test.used {
				e.add(l, strconv.Itoa(i))
			}
			var audio *undeletable
			s := e.losing(false, func(c *feedback.Config) {
				audio = &undeletable{AudioStore: c.Audio, fails: test.fails}
				c.Audio = audio
			})
			for i := range test.orphans {
				lose(e, s, l, strconv.Itoa(i))
			}
			e.clock.Add(25 * time.Hour)
			require.ErrorContains(t, s.Sweep(t.Context()), "permission denied")
			require.Equal(t, test.calls, audio.calls)
			require.Len(t, e.files(), test.left)
		})
	}
}

func TestSweepDeletesNothingOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ours, others, left int
		want               string
	}{
		"a few orphans":       {0, 10, 0, ""},
		"another database":    {0, 11, 11, "knows none of 11"},
		"orphans of failures": {1, 12, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, other := newEnv(t), newEnv(t)
			other.audioDir = e.audioDir
			other.Service = other.service()
			e.clock.Add(time.Since(e.clock.Now())) // files have the real time
			l, otherLesson := e.lesson(), other.lesson()
			for i := range test.ours {
				e.add(l, strconv.Itoa(i))
			}
			for i := range test.others {
				other.add(otherLesson, strconv.Itoa(i))
			}
			e.clock.Add(25 * time.Hour)
			if err := e.Sweep(t.Context()); test.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.want)
			}
			require.Len(t, e.files(), test.left)
		})
	}
}

func TestSweepQueuesStuckSegmentsAgain(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	seg, task := e.add(e.lesson(), "x")
	_, err := e.store.StartTranscription(t.Context(), seg.ID, task.Round, "dead", 1, e.clock.Now())
	require.NoError(t, err)
	e.clock.Add(2 * time.Hour)
	require.NoError(t, e.Sweep(t.Context()))
	require.Empty(t, e.take(), "a worker may hold the job that long")
	e.clock.Add(2 * time.Hour)
	require.NoError(t, e.Sweep(t.Context()))
	tasks := e.take()
	require.Len(t, tasks, 1)
	require.NoError(t, e.run(tasks[0]))
	require.Equal(t, feedback.SegmentTranscribed, e.get(seg).State)
}

func TestUploadToADeletedLessonLeavesNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	deleted := e.service(func(c *feedback.Config) {
		c.Store = &lostAnswer{e.store, false,
			&feedback.Error{Kind: feedback.ErrNotFound, Message: "lesson not found"}}
	})
	_, _, err := deleted.AddSegment(t.Context(), e.teacher, l.ID, bytes.NewReader(feedbacktest.MP3("x")),
		feedback.SegmentInput{})
	require.ErrorIs(t, err, feedback.ErrNotFound)
	require.Empty(t, e.files())
}
