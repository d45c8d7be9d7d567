package feedback_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/testclock"
)

// env is a service on SQLite. The test runs its tasks.
type env struct {
	*feedback.Service
	t        *testing.T
	store    *sqlstore.Store
	audioDir string
	speech   *speech
	teacher  uuid.UUID
	clock    *testclock.Clock

	mu    sync.Mutex
	tasks []feedback.Task
}

// speech is a transcriber with an answer of the test's choice.
type speech struct {
	answer func(ctx context.Context, a feedback.Audio) (feedback.Transcript, error)
}

func (s *speech) Transcribe(ctx context.Context, a feedback.Audio) (feedback.Transcript, error) {
	return s.answer(ctx, a)
}

func says(text string, err error) func(context.Context, feedback.Audio) (feedback.Transcript, error) {
	return func(context.Context, feedback.Audio) (feedback.Transcript, error) {
		return feedback.Transcript{Text: text}, err
	}
}

func newEnv(t *testing.T, change ...func(*feedback.Config)) *env {
	t.Helper()
	e := &env{t: t, audioDir: t.TempDir(), teacher: uuid.New(), speech: &speech{answer: says("hello", nil)},
		clock: testclock.New(time.Date(2026, 5, 31, 23, 30, 0, 123456789, time.UTC))}
	store, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "feedback.db"),
		func(_ context.Context, _ *sql.Tx, task feedback.Task) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.tasks = append(e.tasks, task)
			return nil
		})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	require.NoError(t, store.Migrate(t.Context()))
	e.store = store
	e.Service = e.service(change...)
	return e
}

// service returns another service on the store and audio of e, like that of another process.
func (e *env) service(change ...func(*feedback.Config)) *feedback.Service {
	e.t.Helper()
	audio, err := audiodir.New(e.audioDir)
	require.NoError(e.t, err)
	c := feedback.Config{Store: e.store, Audio: audio, Transcriber: e.speech, Now: e.clock.Now,
		MaxAudioBytes: 1 << 20, PollInterval: time.Hour}
	for _, f := range change {
		f(&c)
	}
	s, err := feedback.New(c)
	require.NoError(e.t, err)
	return s
}

func (e *env) take() []feedback.Task {
	e.mu.Lock()
	defer e.mu.Unlock()
	tasks := e.tasks
	e.tasks = nil
	return tasks
}

func (e *env) profile() feedback.Profile {
	e.t.Helper()
	p, err := e.CreateProfile(e.t.Context(), e.teacher, feedback.ProfileInput{Name: "Ming"})
	require.NoError(e.t, err)
	return p
}

func (e *env) lesson() feedback.Lesson {
	e.t.Helper()
	s, _, err := e.OpenSession(e.t.Context(), e.teacher, feedback.SessionInput{ProfileID: e.profile().ID})
	require.NoError(e.t, err)
	l, err := e.StartLesson(e.t.Context(), e.teacher, s.ID)
	require.NoError(e.t, err)
	return l
}

func (e *env) add(l feedback.Lesson, marker string) (feedback.Segment, feedback.Task) {
	e.t.Helper()
	return e.addOf(l, marker, 0)
}

// addOf adds a recording whose sender gives a duration.
func (e *env) addOf(l feedback.Lesson, marker string, d time.Duration) (feedback.Segment, feedback.Task) {
	e.t.Helper()
	seg, created, err := e.AddSegment(e.t.Context(), e.teacher, l.ID, bytes.NewReader(feedbacktest.MP3(marker)),
		feedback.SegmentInput{Duration: d})
	require.NoError(e.t, err)
	require.True(e.t, created)
	tasks := e.take()
	require.Len(e.t, tasks, 1)
	return seg, tasks[0]
}

// run makes the first attempt at a task.
func (e *env) run(task feedback.Task) error {
	return e.RunTask(e.t.Context(), task, feedback.Attempt{LeaseToken: uuid.NewString(), Number: 1})
}

// hear adds a recording that has been transcribed.
func (e *env) hear(l feedback.Lesson, transcript feedback.Transcript) feedback.Segment {
	e.t.Helper()
	seg, task := e.add(l, uuid.NewString())
	e.speech.answer = func(context.Context, feedback.Audio) (feedback.Transcript, error) { return transcript, nil }
	require.NoError(e.t, e.run(task))
	return e.get(seg)
}

// say adds a recording with a text.
func (e *env) say(l feedback.Lesson, text string) feedback.Segment {
	e.t.Helper()
	return e.hear(l, feedback.Transcript{Text: text})
}

func (e *env) get(s feedback.Segment) feedback.Segment {
	e.t.Helper()
	got, err := e.Segment(e.t.Context(), e.teacher, s.ID)
	require.NoError(e.t, err)
	return got
}

// whole reads the session of a lesson.
func (e *env) whole(l feedback.Lesson) feedback.Session {
	e.t.Helper()
	s, err := e.Session(e.t.Context(), e.teacher, l.SessionID)
	require.NoError(e.t, err)
	return s
}

// record creates a record of the lesson's session.
func (e *env) record(l feedback.Lesson, content string) feedback.Record {
	e.t.Helper()
	r, _, err := e.CreateRecord(e.t.Context(), e.teacher, feedback.RecordInput{ProfileID: e.whole(l).ProfileID,
		SessionID: uuid.NullUUID{UUID: l.SessionID, Valid: true}, Date: "2026-05-31", Content: content})
	require.NoError(e.t, err)
	return r
}

func (e *env) files() []string {
	e.t.Helper()
	names, err := filepath.Glob(filepath.Join(e.audioDir, "*", "*"))
	require.NoError(e.t, err)
	return names
}

// fault is an error with the methods that RunTask looks for.
type fault struct {
	permanent bool
	after     time.Duration
	suspect   bool
	public    string
	code      string
}

func (f fault) Error() string             { return "POST http://10.0.0.1/?key=secret failed" }
func (f fault) Permanent() bool           { return f.permanent }
func (f fault) RetryAfter() time.Duration { return f.after }
func (f fault) Suspect() bool             { return f.suspect }
func (f fault) PublicText() string        { return f.public }
func (f fault) PublicCode() string        { return f.code }

var errOrdinary = errors.New("POST http://10.0.0.1/?key=secret broke off")

func readAll(t *testing.T, a feedback.Audio) []byte {
	t.Helper()
	r, err := a.Open()
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return b
}
