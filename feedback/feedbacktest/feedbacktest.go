// Package feedbacktest checks implementations of [feedback.Store] and
// [feedback.AudioStore] against their contracts. A test of a store is
//
//	feedbacktest.Store(t, func(t *testing.T) feedbacktest.Harness { … })
//
// and one of an audio store
//
//	feedbacktest.AudioStore(t, func(t *testing.T) feedback.AudioStore { … })
//
// Both make a fresh one for each rule and run the rules in parallel.
package feedbacktest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// Harness is an empty store and what a test must see of its outbox.
type Harness struct {
	Store feedback.Store

	// Tasks returns all committed tasks in any order, each of them once over
	// all calls.
	Tasks func(t *testing.T) []feedback.Task

	// FailOutbox makes the outbox fail with an error from now on, or succeed
	// again with nil.
	FailOutbox func(err error)
}

// Store runs the rules of [feedback.Store].
func Store(t *testing.T, open func(t *testing.T) Harness) {
	for name, rule := range map[string]func(*testing.T, *book){
		"profiles keep what they are given":                profilesRoundTrip,
		"profiles are found whatever the case":             profilesSearch,
		"profiles are paged by name":                       profilesPages,
		"a deleted profile takes all along":                profileDeletion,
		"deletion leaves no audio, whatever happens":       profileDeletionRaces,
		"defaults are saved for each teacher":              defaultsOfTeachers,
		"records keep what they are given":                 recordsRoundTrip,
		"records are paged newest first":                   recordsPages,
		"records need a profile and session of theirs":     recordsReferences,
		"one active session whoever asks first":            sessionsConcurrent,
		"sessions are edited by version":                   sessionsEdits,
		"completed sessions change no more":                sessionsCompleted,
		"lessons follow each other":                        lessonsInTurn,
		"lessons start once under concurrent calls":        lessonsConcurrent,
		"the same audio is the same segment":               segmentsRepeated,
		"segments get the next number":                     segmentsNumbers,
		"segments and tasks are stored together":           segmentsOutbox,
		"only failed segments are retried":                 segmentsRetry,
		"a superseded try changes nothing":                 transcriptionFence,
		"a finished segment is not begun again":            transcriptionFinished,
		"given up tries fail the segment":                  transcriptionAbandoned,
		"given up tries undo no retry":                     transcriptionRetried,
		"stuck segments are queued again":                  transcriptionStuck,
		"audio in use is known":                            audioInUse,
		"changes come in the order of revisions":           changesInOrder,
		"another teacher's rows do not exist":              strangers,
		"concurrent writers all succeed":                   manyWriters,
		"an ended context is an error and changes nothing": endedContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, &book{Harness: open(t), t: t, teacher: uuid.New(), now: time.Date(2026, 5, 31, 9, 0, 0, 123456000, time.UTC)})
		})
	}
}

// book is a store with short ways to fill it.
type book struct {
	Harness
	t       *testing.T
	teacher uuid.UUID

	mu  sync.Mutex
	now time.Time
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// tick returns a later time on every call.
func (b *book) tick() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(time.Millisecond)
	return b.now
}

func (b *book) profile(name string) feedback.Profile {
	b.t.Helper()
	at := b.tick()
	p := feedback.Profile{ID: newID(), TeacherID: b.teacher, Name: name, Grade: "3", Subject: "Art", AcademicYear: 2026,
		Term: "spring", GuardianTitle: "mother", StartTime: "09:00", EndTime: "10:30", CreatedAt: at, UpdatedAt: at}
	require.NoError(b.t, b.Store.InsertProfile(b.t.Context(), p))
	return p
}

func (b *book) record(p feedback.Profile, date string, created time.Time) feedback.Record {
	b.t.Helper()
	r := feedback.Record{ID: newID(), TeacherID: b.teacher, ProfileID: p.ID, Date: date, Content: "well done", CreatedAt: created}
	require.NoError(b.t, b.Store.InsertRecord(b.t.Context(), r))
	return r
}

func (b *book) newSession(p feedback.Profile) feedback.Session {
	at := b.tick()
	return feedback.Session{ID: newID(), TeacherID: b.teacher, ProfileID: p.ID, State: feedback.SessionActive,
		Date: "2026-05-31", Version: 1, Revision: 1, CreatedAt: at, UpdatedAt: at}
}

func (b *book) session(p feedback.Profile) feedback.Session {
	b.t.Helper()
	s, created, err := b.Store.OpenSession(b.t.Context(), b.newSession(p))
	require.NoError(b.t, err)
	require.True(b.t, created)
	return s
}

func (b *book) lesson(s feedback.Session) feedback.Lesson {
	b.t.Helper()
	l, err := b.Store.StartLesson(b.t.Context(), b.teacher, feedback.Lesson{ID: newID(), SessionID: s.ID, State: feedback.LessonRecording, StartedAt: b.tick()})
	require.NoError(b.t, err)
	return l
}

func (b *book) newSegment(l feedback.Lesson, sequence int, sha string) feedback.Segment {
	id := newID()
	return feedback.Segment{ID: id, LessonID: l.ID, SessionID: l.SessionID, TeacherID: b.teacher, Sequence: sequence,
		State: feedback.SegmentQueued, AudioKey: "key-" + id.String(), Duration: 1500 * time.Millisecond, Size: 42,
		SHA256: sha, ContentType: "audio/mpeg", CreatedAt: b.tick()}
}

func (b *book) segment(l feedback.Lesson, sequence int) feedback.Segment {
	b.t.Helper()
	s, created, err := b.Store.InsertSegment(b.t.Context(), b.newSegment(l, sequence, fmt.Sprintf("sha-%d", sequence)), false)
	require.NoError(b.t, err)
	require.True(b.t, created)
	return s
}

// lessonOf is a lesson of a new profile and session.
func (b *book) lessonOf(name string) feedback.Lesson {
	b.t.Helper()
	return b.lesson(b.session(b.profile(name)))
}

// all runs n calls at once and returns their errors.
func all(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	return errs
}

func field(t *testing.T, err error) string {
	t.Helper()
	require.ErrorIs(t, err, feedback.ErrInvalid)
	var e *feedback.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Fields, 1)
	return e.Fields[0].Field
}
