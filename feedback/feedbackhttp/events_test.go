package feedbackhttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
)

// overtaken is a store in which something happens before a follower first asks.
type overtaken struct {
	*sqlstore.Store
	once  sync.Once
	event func()
}

func (s *overtaken) Changes(ctx context.Context, teacher, session uuid.UUID, since int64) ([]feedback.Event, int64, error) {
	s.once.Do(s.event)
	return s.Store.Changes(ctx, teacher, session, since)
}

// stream opens the events of a session on a server of its own, and returns
// what reads the next line that begins with a key.
func stream(t *testing.T, h http.Handler, session, last string, headers ...string) (next func(key string) string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/api/v1/feedback-sessions/"+session+"/events", nil)
	require.NoError(t, err)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { res.Body.Close() })
	require.Equal(t, 200, res.StatusCode)
	lines := bufio.NewScanner(res.Body)
	return func(key string) string {
		t.Helper()
		for lines.Scan() {
			if value, ok := strings.CutPrefix(lines.Text(), key+": "); ok {
				return value
			}
		}
		t.Fatal("the stream ended: ", lines.Err())
		return ""
	}
}

// "one per segment or lesson state change", also one of another process right
// after the stream is open.
func TestEventStreamBeginsWhenItIsOpen(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "sqlite:"+t.TempDir()+"/f.db")
	session := e.session(e.profile("Ming"))
	lesson := e.lesson(session)
	store := &overtaken{Store: e.store, event: func() { e.do("POST", "/feedback-lessons/"+lesson+"/finish", nil).want(200) }}
	next := stream(t, e.another(store), session, "", "X-Teacher", e.teacher.String())
	require.Equal(t, "lesson", next("event"))
	require.Contains(t, next("data"), `"state":"finished"`)
}

// "one per segment or lesson state change", also for a client that was cut off
// while a change of another process was still to be found.
func TestEventStreamGoesOnFromAnyID(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "sqlite:"+t.TempDir()+"/f.db")
	session := e.session(e.profile("Ming"))
	lesson := e.lesson(session)
	segment := e.upload(lesson, recording("x")).want(202).str("segment_id")
	front := e.another(e.store)
	as := []string{"X-Teacher", e.teacher.String()}
	next := stream(t, front, session, "0", as...)
	require.Contains(t, next("data"), `"state":"recording"`)
	require.Contains(t, next("data"), `"state":"queued"`)

	require.Equal(t, []error{nil}, e.work()) // by another process
	r := httptest.NewRequest("POST", "/api/v1/feedback-lessons/"+lesson+"/finish", nil)
	r.Header.Set(as[0], as[1])
	w := httptest.NewRecorder()
	front.ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)
	id := next("id")
	transcribed := next("data")
	require.Contains(t, transcribed, `"state":"transcribed"`)
	require.Contains(t, transcribed, fmt.Sprintf(`"segment_id":%q`, segment))

	next = stream(t, front, session, id, as...)
	require.Contains(t, next("data"), `"state":"finished"`)
}

// streamUntil opens a stream of events on a fake clock, where each check of the sign-in after the
// first fails with the next of errs, and returns the stream and how long it was open.
func streamUntil(t *testing.T, errs ...error) (body string, open time.Duration) {
	t.Helper()
	e := newEnv(t, "sqlite:"+t.TempDir()+"/f.db")
	session := e.session(e.profile("Ming"))
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		e.handler = feedbackhttp.Handler(feedbackhttp.Config{Service: e.svc, Authenticate: func(context.Context, http.Header) (uuid.UUID, error) {
			checks++
			if checks == 1 {
				return e.teacher, nil
			}
			return uuid.Nil, errs[checks-2]
		}})
		began := time.Now()
		body = e.do("GET", "/feedback-sessions/"+session+"/events", nil).want(200).Body.String()
		open = time.Since(began)
		require.Equal(t, len(errs)+1, checks)
	})
	return body, open
}

func TestEventStreamEndsWithTheLogout(t *testing.T) {
	t.Parallel()
	body, open := streamUntil(t, errors.New("logged out"))
	require.Equal(t, "retry: 2000\n\n", body)
	require.Equal(t, 15*time.Second, open)
}

func TestEventStreamOutlastsADatabaseOutage(t *testing.T) {
	t.Parallel()
	away := fault{permanent: false, after: 5 * time.Second}
	body, open := streamUntil(t, away, nil, huma.Error401Unauthorized("logged out"))
	require.Equal(t, 2, strings.Count(body, ": still here"))
	require.Equal(t, 45*time.Second, open)
}

// another is a process beside e that seldom looks for what others did.
func (e *env) another(store feedback.Store) http.Handler {
	e.t.Helper()
	audio, err := audiodir.New(e.audioDir)
	require.NoError(e.t, err)
	s, err := feedback.New(feedback.Config{Store: store, Audio: audio, Now: e.now.Now, Location: time.UTC, PollInterval: time.Hour})
	require.NoError(e.t, err)
	return feedbackhttp.Handler(feedbackhttp.Config{Service: s, Authenticate: teacherOf})
}
