package feedbackhttp_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // a driver
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // a driver

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/db"
	"lessonkit.example/internal/httpapi/apitest"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/internal/testclock"
)

// env is a whole service over one engine, with a queue in the same database.
type env struct {
	t        *testing.T
	handler  http.Handler
	document *apitest.Document // every answer is checked against it, unless it is nil
	svc      *feedback.Service
	store    *sqlstore.Store
	db       *sql.DB // a connection of the test's own
	audioDir string
	speech   *speech
	summary  *joiner
	teacher  uuid.UUID
	now      *testclock.Clock
}

// speech is a transcriber that returns the last byte of the recording, or fails.
type speech struct {
	mu     sync.Mutex
	err    error
	during func() // if not nil, is called by each transcription
}

func (s *speech) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *speech) Transcribe(_ context.Context, a feedback.Audio) (feedback.Transcript, error) {
	r, err := a.Open()
	if err != nil {
		return feedback.Transcript{}, err
	}
	defer r.Close()
	audio, err := io.ReadAll(r)
	if err != nil {
		return feedback.Transcript{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.during != nil {
		s.during()
	}
	said := feedback.Sentence{Text: "Said " + string(audio[len(audio)-1:]) + ".", End: 1200 * time.Millisecond}
	return feedback.Transcript{
		Text: said.Text, Duration: 1500 * time.Millisecond, Sentences: []feedback.Sentence{said},
	}, s.err
}

// joiner is a summarizer that is easy to check.
type joiner struct {
	err     error
	warning string
	codes   []feedback.SummaryWarning
}

func (j *joiner) Summarize(_ context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	var text bytes.Buffer
	for _, l := range in.Lessons {
		text.WriteString("[" + l.Text + "]")
	}
	return feedback.Summary{
		Text: text.String(), Source: feedback.SummaryLocal, Warning: j.warning, WarningCodes: j.codes,
	}, j.err
}

// teacherOf takes a header's word for who sends a request.
func teacherOf(_ context.Context, h http.Header) (uuid.UUID, error) {
	return uuid.Parse(h.Get("X-Teacher"))
}

// outbox keeps tasks in a table of the test's.
func outbox(ctx context.Context, tx *sql.Tx, task feedback.Task) error {
	args, err := json.Marshal(task)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `insert into test_jobs (id, args) values ($1, $2)`, uuid.NewString(), string(args))
	return err
}

// engines runs a test over each engine. Most tests need one: package sqlstore tests that the
// engines are equal.
func engines(t *testing.T, test func(t *testing.T, e *env)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newEnv(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newEnvOn(t, pgtest.URL(t)))
	})
}

// newEnv returns an env on the embedded engine.
func newEnv(t *testing.T) *env {
	t.Helper()
	return newEnvOn(t, "sqlite:"+filepath.Join(t.TempDir(), "feedback.db"))
}

func newEnvOn(t *testing.T, url string) *env {
	t.Helper()
	e := &env{t: t, speech: &speech{}, summary: &joiner{}, teacher: uuid.New(), audioDir: t.TempDir(),
		document: apitest.Parse(t, document(t)),
		now:      testclock.New(time.Date(2026, 5, 31, 9, 0, 0, 0, time.UTC))}
	store, err := sqlstore.Open(t.Context(), url, outbox)
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	require.NoError(t, store.Migrate(t.Context()))
	e.store = store
	opened, err := db.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { opened.Close() })
	e.db = opened.W
	_, err = e.db.ExecContext(t.Context(), `create table test_jobs (id text primary key, args text not null)`)
	require.NoError(t, err)
	e.serve(func(*feedback.Config, *feedbackhttp.Config) {})
	return e
}

// serve replaces the handler by one with another configuration.
func (e *env) serve(change func(*feedback.Config, *feedbackhttp.Config)) {
	e.t.Helper()
	audio, err := audiodir.New(e.audioDir)
	require.NoError(e.t, err)
	service := feedback.Config{Store: e.store, Audio: audio, Transcriber: e.speech, Summarizer: e.summary,
		Now: e.now.Now, MaxAudioBytes: 1 << 20, PollInterval: 20 * time.Millisecond}
	config := feedbackhttp.Config{Authenticate: teacherOf}
	change(&service, &config)
	e.svc, err = feedback.New(service)
	require.NoError(e.t, err)
	config.Service = e.svc
	e.handler = feedbackhttp.Handler(config)
}

// tasks takes all tasks out of the queue, oldest transcription first.
func (e *env) tasks() []feedback.Task {
	e.t.Helper()
	rows, err := e.db.Query(`delete from test_jobs returning args`)
	require.NoError(e.t, err)
	defer rows.Close()
	var tasks []feedback.Task
	for rows.Next() {
		var args string
		var task feedback.Task
		require.NoError(e.t, rows.Scan(&args))
		require.NoError(e.t, json.Unmarshal([]byte(args), &task))
		tasks = append(tasks, task)
	}
	require.NoError(e.t, rows.Err())
	return tasks
}

// work performs all queued tasks once.
func (e *env) work() error {
	e.t.Helper()
	var errs []error
	for _, task := range e.tasks() {
		attempt := feedback.Attempt{LeaseToken: uuid.NewString(), Number: 1, MaxAttempts: 3}
		errs = append(errs, e.svc.RunTask(e.t.Context(), task, attempt))
	}
	return errors.Join(errs...)
}

// answer is a response with its JSON body taken apart.
type answer struct {
	*httptest.ResponseRecorder
	t    *testing.T
	json map[string]any
}

func (a answer) code() string { s, _ := a.json["code"].(string); return s }

func (a answer) str(key string) string {
	a.t.Helper()
	s, ok := a.json[key].(string)
	require.True(a.t, ok, "%s is not a text in %v", key, a.json)
	return s
}

// want checks the status, and the code of a problem.
func (a answer) want(status int, code ...string) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.Code, "body: %s", a.Body)
	if len(code) > 0 {
		require.Equal(a.t, code[0], a.code(), "body: %s", a.Body)
	}
	if status >= 400 {
		require.Equal(a.t, "application/problem+json", a.Header().Get("Content-Type"))
	}
	return a
}

func (e *env) send(r *http.Request) answer {
	e.t.Helper()
	if r.Header.Get("X-Teacher") == "" {
		r.Header.Set("X-Teacher", e.teacher.String())
	}
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	if e.document != nil {
		e.document.Check(e.t, r, w.Code, w.Result().Header)
	}
	a := answer{ResponseRecorder: w, t: e.t}
	if body := w.Body.Bytes(); len(body) > 0 && body[0] == '{' {
		require.NoError(e.t, json.Unmarshal(body, &a.json), "body: %s", body)
	}
	return a
}

// do sends a body as JSON; a string is sent as it is, nil is no body. Headers come in pairs.
func (e *env) do(method, path string, body any, headers ...string) answer {
	e.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = bytes.NewReader([]byte(b))
	default:
		encoded, err := json.Marshal(b)
		require.NoError(e.t, err)
		reader = bytes.NewReader(encoded)
	}
	r := httptest.NewRequestWithContext(e.t.Context(), method, "/api/v1"+path, reader)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return e.send(r)
}

type object = map[string]any

func (e *env) profile(name string) string {
	e.t.Helper()
	return e.do("POST", "/profiles", object{"name": name}).want(201).str("profile_id")
}

func (e *env) session(profile string) string {
	e.t.Helper()
	return e.do("POST", "/feedback-sessions", object{"profile_id": profile}).want(201).str("session_id")
}

func (e *env) lesson(session string) string {
	e.t.Helper()
	return e.do("POST", "/feedback-sessions/"+session+"/lessons", nil).want(201).str("lesson_id")
}

// part is one part of a form: a recording when it has a file name.
type part struct{ name, file, contentType, value string }

// upload sends a form.
func (e *env) upload(lesson string, parts ...part) answer {
	e.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, p := range parts {
		header := map[string][]string{"Content-Disposition": {`form-data; name="` + p.name + `"`}}
		if p.file != "" {
			header["Content-Disposition"][0] += `; filename="` + p.file + `"`
		}
		if p.contentType != "" {
			header["Content-Type"] = []string{p.contentType}
		}
		w, err := form.CreatePart(header)
		require.NoError(e.t, err)
		_, err = io.WriteString(w, p.value)
		require.NoError(e.t, err)
	}
	require.NoError(e.t, form.Close())
	r := httptest.NewRequestWithContext(e.t.Context(), "POST", "/api/v1/feedback-lessons/"+lesson+"/segments", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return e.send(r)
}

func recording(marker string) part {
	return part{name: "file", file: "tmp.mp3", value: string(feedbacktest.MP3(marker))}
}

// files lists all audio files.
func (e *env) files() (names []string) {
	e.t.Helper()
	names, err := filepath.Glob(filepath.Join(e.audioDir, "*", "*"))
	require.NoError(e.t, err)
	return names
}

func (e *env) count(table string) (n int) {
	e.t.Helper()
	require.NoError(e.t, e.db.QueryRow(`select count(*) from `+table).Scan(&n))
	return n
}

// fault is an error that tells by method.
type fault struct {
	permanent bool
	after     time.Duration
	public    string
}

func (f fault) Error() string             { return "recogniser at http://10.0.0.1 says no" }
func (f fault) Permanent() bool           { return f.permanent }
func (f fault) RetryAfter() time.Duration { return f.after }
func (f fault) PublicText() string        { return f.public }

var errOrdinary = errors.New("connection to 10.0.0.1 broke")
