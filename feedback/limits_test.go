package feedback_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbacktest"
)

// paid is a summarizer that counts its calls, each of which takes a minute or as long as it says.
type paid struct {
	calls atomic.Int64
	takes time.Duration
	err   error
}

func (p *paid) Summarize(ctx context.Context, _ feedback.SummaryInput) (feedback.Summary, error) {
	p.calls.Add(1)
	select {
	case <-time.After(cmp.Or(p.takes, time.Minute)):
	case <-ctx.Done():
		return feedback.Summary{}, ctx.Err()
	}
	return feedback.Summary{Text: "summary", Source: feedback.SummaryRemote}, p.err
}

// transcribed returns a lesson of a new profile with a text.
func (e *env) transcribed() feedback.Lesson {
	e.t.Helper()
	l := e.lesson()
	e.say(l, "hello")
	return l
}

func TestConcurrentSummariesOfASessionArePaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &paid{}
		e := newEnv(t, func(c *feedback.Config) { c.Summarizer = p })
		l, other := e.transcribed(), e.transcribed()
		generate := func(ctx context.Context, session uuid.UUID, lessons ...uuid.UUID) <-chan error {
			done := make(chan error, 1)
			go func() {
				g, err := e.Generate(ctx, e.teacher, session, lessons)
				if err == nil && g.Text != "summary" {
					err = fmt.Errorf("text %q", g.Text)
				}
				done <- err
			}()
			return done
		}
		// The first caller goes away: the others still get the summary that it started.
		impatient, leave := context.WithCancel(t.Context())
		first := generate(impatient, l.SessionID)
		synctest.Wait()
		var calls []<-chan error
		for range 300 {
			calls = append(calls, generate(t.Context(), l.SessionID))
		}
		synctest.Wait()
		require.EqualValues(t, 1, p.calls.Load())
		leave()
		require.ErrorIs(t, <-first, context.Canceled)
		calls = append(calls, generate(t.Context(), other.SessionID)) // does not wait for them
		synctest.Wait()
		require.EqualValues(t, 2, p.calls.Load())
		for _, call := range calls {
			require.NoError(t, <-call)
		}
		require.EqualValues(t, 2, p.calls.Load())

		// Another teacher does not share what is running.
		running := generate(t.Context(), l.SessionID)
		synctest.Wait()
		_, err := e.Generate(t.Context(), uuid.New(), l.SessionID, nil)
		require.ErrorIs(t, err, feedback.ErrNotFound)

		// Nor is it made again after a change that is no part of it.
		_, err = e.EditSession(t.Context(), e.teacher, l.SessionID, feedback.SessionEdit{FeedbackText: new("mine")})
		require.NoError(t, err)
		e.add(l, "no text yet")
		next, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
		require.NoError(t, err)
		require.Equal(t, 1, next.Segments.Queued)
		require.NoError(t, <-running)
		require.EqualValues(t, 3, p.calls.Load())
	})
}

// wishful is a summarizer that takes a minute, and fails without wishes.
type wishful struct{ calls atomic.Int64 }

func (w *wishful) Summarize(_ context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	w.calls.Add(1)
	time.Sleep(time.Minute)
	if in.Instructions == "" {
		return feedback.Summary{}, errors.New("overloaded")
	}
	return feedback.Summary{Text: in.Instructions + ": " + in.Lessons[0].Text}, nil
}

func TestSummaryHasWhatChangedWhileAnotherWasMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wishful{}
		e := newEnv(t, func(c *feedback.Config) { c.Summarizer = w })
		l := e.transcribed()
		generate := func() <-chan string {
			text := make(chan string, 1)
			go func() {
				g, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
				text <- fmt.Sprintf("%s %v", g.Text, errors.Is(err, feedback.ErrSummary))
			}()
			synctest.Wait()
			return text
		}
		first := generate()
		require.NoError(t, e.SaveDefaults(t.Context(), e.teacher,
			feedback.Defaults{LessonDurationMinutes: 1, SummaryInstructions: "short"}))
		second := generate()
		e.say(l, "more")
		third := generate()
		require.Equal(t, " true", <-first)
		require.Equal(t, "short: hello\nmore false", <-second)
		require.Equal(t, "short: hello\nmore false", <-third)
		require.EqualValues(t, 2, w.calls.Load())
	})
}

func TestSummariesOfADayAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &paid{err: errors.New("overloaded")} // a failed summary may be paid for, too
		e := newEnv(t, func(c *feedback.Config) { c.Summarizer, c.Limits.Summaries = p, 3 })
		l := e.transcribed()
		for i := range 300 {
			_, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
			if i < 3 {
				require.ErrorIs(t, err, feedback.ErrSummary)
				continue
			}
			requireLimit(t, err, 30*time.Minute) // it is 23:30
		}
		require.EqualValues(t, 3, p.calls.Load())

		e.clock.Add(30 * time.Minute)
		_, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
		require.ErrorIs(t, err, feedback.ErrSummary, "a new day")
		require.EqualValues(t, 4, p.calls.Load())
	})
}

func TestSummaryThatTakesTooLongHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, func(c *feedback.Config) { c.Summarizer = &paid{takes: time.Hour} })
		_, err := e.Generate(t.Context(), e.teacher, e.transcribed().SessionID, nil)
		require.ErrorIs(t, err, feedback.ErrSummary)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestSummariesWithoutASummarizerAreNotCounted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	_, err := e.Generate(t.Context(), e.teacher, e.transcribed().SessionID, nil)
	require.ErrorIs(t, err, feedback.ErrSummary)
	require.ErrorContains(t, err, "no summarizer is configured")
	used, err := e.store.Usage(t.Context(), e.teacher, e.clock.Now())
	require.NoError(t, err)
	require.Zero(t, used.Summaries)
}

func requireLimit(t *testing.T, err error, after time.Duration) {
	t.Helper()
	require.ErrorIs(t, err, feedback.ErrLimit)
	var e *feedback.Error
	require.ErrorAs(t, err, &e)
	require.InDelta(t, after.Seconds(), e.RetryAfter().Seconds(), 1)
}

func TestPanickingSummarizerIsAnError(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = panicking{} })
	_, err := e.Generate(t.Context(), e.teacher, e.transcribed().SessionID, nil)
	require.ErrorContains(t, err, "panicked")
}

type panicking struct{}

func (panicking) Summarize(context.Context, feedback.SummaryInput) (feedback.Summary, error) {
	panic("out of range")
}

func TestSessionsOfADayAreLimited(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.Limits.Sessions = 2 })
	open := func(p feedback.Profile) (feedback.Session, error) {
		s, _, err := e.OpenSession(t.Context(), e.teacher, feedback.SessionInput{ProfileID: p.ID})
		return s, err
	}
	first := e.profile()
	want, err := open(first)
	require.NoError(t, err)
	_, err = open(e.profile())
	require.NoError(t, err)
	third := e.profile()
	_, err = open(third)
	requireLimit(t, err, 30*time.Minute)
	got, err := open(first)
	require.NoError(t, err, "a session can be resumed")
	require.Equal(t, want, got)

	e.teacher = uuid.New()
	_, err = open(e.profile())
	require.NoError(t, err, "another teacher")
}

func TestUploadsOfADayAreLimitedBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]feedback.Limits{
		"segments": {Segments: 2},
		"bytes":    {Bytes: int64(len(feedbacktest.MP3("0")) + 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, func(c *feedback.Config) { c.Limits = limits })
			l := e.lesson()
			e.add(l, "0")
			e.add(l, "1")
			_, _, err := e.AddSegment(t.Context(), e.teacher, l.ID, mustNotRead{t}, feedback.SegmentInput{})
			requireLimit(t, err, 30*time.Minute)
			require.Len(t, e.files(), 2)

			e.teacher = uuid.New()
			e.add(e.lesson(), "2")
		})
	}
}

func TestInvalidInputIsRefusedBeforeTheRecordingIsRead(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	l := e.lesson()
	for _, in := range []feedback.SegmentInput{
		{Sequence: new(feedback.MaxSequence + 1)}, {Duration: -time.Second}, {PCM: &feedback.PCM{SampleRate: 1}},
	} {
		_, _, err := e.AddSegment(t.Context(), e.teacher, l.ID, mustNotRead{t}, in)
		require.ErrorIs(t, err, feedback.ErrInvalid)
	}
}

func TestALimitOfManyBytesIsWrittenOut(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.Limits.Bytes = 20 << 30 })
	l := e.lesson()
	_, err := e.store.AddUsage(t.Context(), e.teacher, feedback.Usage{Bytes: 20 << 30}, e.clock.Now())
	require.NoError(t, err)
	require.ErrorContains(t, errorOf(e.StartUpload(t.Context(), e.teacher, l.ID)), "limit of 20480 MB of recordings")
}

// mustNotRead fails the test if it is read.
type mustNotRead struct{ t *testing.T }

func (r mustNotRead) Read([]byte) (int, error) {
	r.t.Error("the upload was read")
	return 0, errors.New("read")
}

func TestNegativeLimitsAreNone(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) {
		c.Limits = feedback.Limits{Bytes: -1, Segments: -5, Sessions: -1, Summaries: -1}
		c.MaxAudioBytes = math.MaxInt64
		c.Summarizer = fixedSummary("summary")
	})
	l := e.transcribed()
	for range 3 {
		_, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
		require.NoError(t, err)
	}
	e.add(l, "x")
}

// A lesson that is too large to be read with its session is summarized, too.
func TestSummaryOfALongLesson(t *testing.T) {
	t.Parallel()
	s := &listening{}
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = s })
	l := e.lesson()
	var want string
	add := func(text string) {
		e.say(l, text)
		want += text + "\n"
	}
	for i := range 5 {
		add(strings.Repeat(fmt.Sprint(i), feedback.MaxPageText/2))
	}
	g, err := e.Generate(t.Context(), e.teacher, l.SessionID, nil)
	require.NoError(t, err)
	require.Equal(t, feedback.SegmentCounts{Total: 5, Transcribed: 5}, g.Segments)
	require.Equal(t, strings.TrimSuffix(want, "\n"), s.heard.Lessons[0].Text)

	for range 4 {
		add(strings.Repeat("8", feedback.MaxPageText/2))
	}
	_, err = e.Generate(t.Context(), e.teacher, l.SessionID, nil)
	require.ErrorIs(t, err, feedback.ErrInvalid)
	require.ErrorContains(t, err, "select fewer lessons")

	// The list of segments has them all.
	var read []string
	for p := (feedback.Page{}); ; {
		list, err := e.Segments(t.Context(), e.teacher, l.ID, p)
		require.NoError(t, err)
		for _, g := range list.Items {
			read = append(read, g.Text)
		}
		if p.Cursor = list.NextCursor; p.Cursor == "" {
			break
		}
	}
	require.Equal(t, want, strings.Join(read, "\n")+"\n")
}

// listening is a summarizer that keeps what it is given.
type listening struct{ heard feedback.SummaryInput }

func (l *listening) Summarize(_ context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	l.heard = in
	return feedback.Summary{Text: "summary"}, nil
}

// errorOf returns the error of a call.
func errorOf[T any](_ T, err error) error { return err }

// A teacher who may store no more text today reads, deletes and continues what is open; others are
// not concerned.
func TestTextOfADayIsLimited(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]feedback.Limits{"bytes": {TextBytes: 18}, "rows": {TextRows: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, func(c *feedback.Config) { c.Limits = limits })
			ctx, p := t.Context(), e.profile() // of 16 bytes: Ming, Art class, Art
			s, _, err := e.OpenSession(ctx, e.teacher, feedback.SessionInput{ProfileID: p.ID})
			require.NoError(t, err)
			in := feedback.RecordInput{ProfileID: p.ID, Date: "2026-05-31", Content: "good"}
			r, _, err := e.CreateRecord(ctx, e.teacher, in)
			require.NoError(t, err)
			edit := feedback.SessionEdit{FeedbackText: new("more")}
			_, _, another := e.CreateRecord(ctx, e.teacher, in)
			for what, err := range map[string]error{
				"a record":       another,
				"a profile":      errorOf(e.CreateProfile(ctx, e.teacher, feedback.ProfileInput{Name: "Li"})),
				"a changed one":  errorOf(e.ReplaceProfile(ctx, e.teacher, p.ID, feedback.ProfileInput{Name: "Li"})),
				"a lesson":       errorOf(e.StartLesson(ctx, e.teacher, s.ID)),
				"words":          errorOf(e.SaveWords(ctx, e.teacher, []string{"Ada"})),
				"defaults":       e.SaveDefaults(ctx, e.teacher, feedback.Defaults{LessonDurationMinutes: 1}),
				"a session text": errorOf(e.EditSession(ctx, e.teacher, s.ID, edit)),
				"a summary":      errorOf(e.Generate(ctx, e.teacher, s.ID, nil)),
			} {
				t.Log(what)
				requireLimit(t, err, 30*time.Minute) // it is 23:30
			}
			_, created, err := e.OpenSession(ctx, e.teacher, feedback.SessionInput{ProfileID: p.ID})
			require.NoError(t, err)
			require.False(t, created)
			_, err = e.CreateProfile(ctx, uuid.New(), feedback.ProfileInput{Name: "Li"})
			require.NoError(t, err)
			require.NoError(t, e.DeleteRecord(ctx, e.teacher, r.ID))
			require.NoError(t, e.DeleteProfile(ctx, e.teacher, p.ID))
		})
	}
}
