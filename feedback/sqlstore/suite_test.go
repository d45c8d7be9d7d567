package sqlstore_test

import (
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/sqlstore"
)

var engines = map[string]func(*testing.T) *fixture{"sqlite": openSQLite, "postgres": openPostgres}

// TestStore tests the store on each engine.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]func(*testing.T, *fixture){
		"profiles round trip":                                      profilesRoundTrip,
		"profiles are found ignoring case":                         profilesSearch,
		"profiles are paged by name":                               profilesPages,
		"deleting a profile deletes what belongs to it":            profileDeletion,
		"deleting a profile during uploads leaves no audio":        profileDeletionRaces,
		"audio of old transcriptions expires":                      audioExpired,
		"audio expires once":                                       audioExpiredConcurrently,
		"erasing a teacher deletes everything":                     teacherErased,
		"defaults are saved for each teacher":                      defaultsOfTeachers,
		"words are saved in their order":                           wordsSaved,
		"words unused for longest are forgotten":                   wordsForgotten,
		"one of the lists of words saved concurrently wins":        wordsSavedConcurrently,
		"a deleted student's name is no longer a word":             wordsOfADeletedStudent,
		"hints are of the session's student and teacher":           hintsOfSession,
		"records round trip":                                       recordsRoundTrip,
		"records are edited and found":                             recordsAreEdited,
		"records are searched as strings.Contains does":            recordsSearched,
		"a search ends with its context":                           searchEnds,
		"records are paged newest first":                           recordsPages,
		"records need a profile and a session of it":               recordsReferences,
		"a repeated request is answered as the first one":          idempotencyKeys,
		"concurrent requests with one key insert one record":       oneKeyConcurrently,
		"concurrent calls open one session":                        sessionsConcurrent,
		"sessions are edited by version":                           sessionsEdits,
		"completed sessions cannot be changed":                     sessionsCompleted,
		"lessons are numbered":                                     lessonsNumbered,
		"lessons start once under concurrent calls":                lessonsConcurrent,
		"the same audio is the same segment":                       segmentsRepeated,
		"segments get the next number":                             segmentsNumbers,
		"teachers take turns":                                      segmentsTurns,
		"unfinished segments are listed in turn":                   segmentsUnfinished,
		"the last transcriptions are listed with their times":      segmentsTranscriptionTimes,
		"only finished segments are retried":                       segmentsRetry,
		"a text stays until there is another one":                  segmentsAgain,
		"a lesson is retried as a whole":                           lessonRetried,
		"what was said is edited by version":                       segmentsEdited,
		"a superseded attempt changes nothing":                     transcriptionFence,
		"the recogniser's task is kept until it is done":           transcriptionTask,
		"suspicions are kept until a retry":                        transcriptionSuspicions,
		"a finished segment is not started again":                  transcriptionFinished,
		"a task that was given up fails its segment":               transcriptionFailed,
		"a task that was given up does not fail a retried segment": transcriptionRetried,
		"stuck segments are queued again":                          transcriptionStuck,
		"audio in use is found":                                    audioInUse,
		"changes come in the order of revisions":                   changesInOrder,
		"sessions of a student are listed":                         sessionsListed,
		"sessions are read up to a size":                           sessionsBounded,
		"records and profiles are paged up to a size":              pagesBounded,
		"segments are paged up to a size":                          segmentsPaged,
		"changes are read up to a size":                            changesBounded,
		"segments, tasks and usage are stored together":            usageCounted,
		"text is counted by its growth":                            textCounted,
		"usage is of one day":                                      usageOfADay,
		"rows of another teacher are absent":                       otherTeacher,
		"columns have types":                                       columnsTyped,
		"references have an index":                                 referencesIndexed,
	} {
		for engine, open := range engines {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				rule(t, open(t))
			})
		}
	}
}

// fixture is a store with helpers that fill it.
type fixture struct {
	Store    *sqlstore.Store
	t        *testing.T
	db       *sql.DB // with the table jobs, into which the outbox inserts
	postgres bool
	teacher  uuid.UUID
	outbox   atomic.Pointer[error] // fails with this error unless it is nil

	mu  sync.Mutex
	now time.Time
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// tick returns a later time with each call.
func (f *fixture) tick() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(time.Millisecond)
	return f.now
}

func (f *fixture) profile(name string) feedback.Profile {
	f.t.Helper()
	at := f.tick()
	p := feedback.Profile{ID: newID(), TeacherID: f.teacher, Name: name, Grade: "3", Subject: "Art",
		AcademicYear: 2026, Term: "spring", GuardianTitle: "mother", StartTime: "09:00", EndTime: "10:30",
		CreatedAt: at, UpdatedAt: at}
	_, err := f.Store.InsertProfile(f.t.Context(), p, nil)
	require.NoError(f.t, err)
	return p
}

// newRecord returns a record of 31 May, also of a session if its identifier is not zero.
func (f *fixture) newRecord(p feedback.Profile, content string, session uuid.UUID) feedback.Record {
	return feedback.Record{ID: newID(), TeacherID: f.teacher, ProfileID: p.ID, Date: "2026-05-31", Content: content,
		SessionID: uuid.NullUUID{UUID: session, Valid: session != uuid.Nil}, CreatedAt: f.tick(),
		AcademicYear: p.AcademicYear, Term: p.Term, Version: 1}
}

func (f *fixture) record(p feedback.Profile) feedback.Record {
	f.t.Helper()
	r := f.newRecord(p, "well done", uuid.Nil)
	require.NoError(f.t, f.insert(r))
	return r
}

// insert inserts a record without an idempotency key.
func (f *fixture) insert(r feedback.Record) error {
	_, _, err := f.Store.InsertRecord(f.t.Context(), r, nil)
	return err
}

func (f *fixture) newSession(p feedback.Profile) feedback.Session {
	at := f.tick()
	return feedback.Session{ID: newID(), TeacherID: f.teacher, ProfileID: p.ID, State: feedback.SessionActive,
		Date: "2026-05-31", Version: 1, Revision: 1, CreatedAt: at, UpdatedAt: at}
}

func (f *fixture) session(p feedback.Profile) feedback.Session {
	f.t.Helper()
	s, created, err := f.Store.OpenSession(f.t.Context(), f.newSession(p))
	require.NoError(f.t, err)
	require.True(f.t, created)
	return s
}

func (f *fixture) newLesson(s feedback.Session) feedback.Lesson {
	return feedback.Lesson{ID: newID(), SessionID: s.ID, State: feedback.LessonRecording, StartedAt: f.tick()}
}

func (f *fixture) lesson(s feedback.Session) feedback.Lesson {
	f.t.Helper()
	l, err := f.Store.StartLesson(f.t.Context(), f.teacher, f.newLesson(s))
	require.NoError(f.t, err)
	return l
}

func (f *fixture) newSegment(l feedback.Lesson, sequence int, sha string) feedback.Segment {
	id := newID()
	return feedback.Segment{ID: id, LessonID: l.ID, SessionID: l.SessionID, TeacherID: f.teacher, Sequence: sequence,
		State: feedback.SegmentQueued, AudioKey: "key-" + id.String(), Duration: 1500 * time.Millisecond, Size: 42,
		SHA256: sha, ContentType: "audio/mpeg", CreatedAt: f.tick()}
}

func (f *fixture) segment(l feedback.Lesson, sequence int) feedback.Segment {
	f.t.Helper()
	n := f.newSegment(l, sequence, fmt.Sprintf("sha-%d", sequence))
	s, created, err := f.Store.InsertSegment(f.t.Context(), n, false)
	require.NoError(f.t, err)
	require.True(f.t, created)
	return s
}

// get reads a segment.
func (f *fixture) get(g feedback.Segment) feedback.Segment {
	f.t.Helper()
	g, err := f.Store.Segment(f.t.Context(), g.TeacherID, g.ID)
	require.NoError(f.t, err)
	return g
}

// whole reads a session.
func (f *fixture) whole(id uuid.UUID) feedback.Session {
	f.t.Helper()
	s, err := f.Store.Session(f.t.Context(), f.teacher, id)
	require.NoError(f.t, err)
	return s
}

// lessonOf starts a lesson of a new profile and session.
func (f *fixture) lessonOf(name string) feedback.Lesson {
	f.t.Helper()
	return f.lesson(f.session(f.profile(name)))
}

// concurrently runs n calls at once and returns their errors.
func concurrently(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	return errs
}

// errorOf returns the error of a call.
func errorOf[T any](_ T, err error) error { return err }

func field(t *testing.T, err error) string {
	t.Helper()
	require.ErrorIs(t, err, feedback.ErrInvalid)
	var e *feedback.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Fields, 1)
	return e.Fields[0].Field
}
