package feedbackhttp_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
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
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
)

// overtaken is a store in which something happens before the first read of changes.
type overtaken struct {
	*sqlstore.Store
	once  sync.Once
	event func()
}

func (s *overtaken) Changes(
	ctx context.Context, teacher, session uuid.UUID, since int64,
) ([]feedback.Event, int64, error) {
	s.once.Do(s.event)
	return s.Store.Changes(ctx, teacher, session, since)
}

// stream serves h and returns a function that waits for the next event of a session.
func stream(
	t *testing.T, h http.Handler, teacher uuid.UUID, session, last string,
) (next func() feedbackclient.Event) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	client := feedbackclient.Client{Base: server.URL, Header: http.Header{"X-Teacher": {teacher.String()}}}
	pull, stop := iter.Pull2(client.Follow(ctx, session, last))
	t.Cleanup(stop)
	t.Cleanup(cancel)
	return func() feedbackclient.Event {
		t.Helper()
		e, err, ok := pull()
		require.True(t, ok)
		require.NoError(t, err)
		return e
	}
}

// A change of another process right after the stream has been opened is reported.
func TestEventStreamStartsWhenItIsOpen(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session := e.session(e.profile("Ming"))
	lesson := e.lesson(session)
	store := &overtaken{Store: e.store, event: func() {
		e.do("POST", "/feedback-lessons/"+lesson+"/finish", nil).want(200)
	}}
	other := *e
	other.serve(func(c *feedback.Config, _ *feedbackhttp.Config) { c.Store, c.PollInterval = store, time.Hour })
	event := stream(t, other.handler, e.teacher, session, "")()
	require.Equal(t, "lesson", event.Name)
	require.Equal(t, "finished", event.Lesson.State)
}

// A signed-out client receives no event more.
func TestEventStreamChecksTheSessionAtEachEvent(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session := e.session(e.profile("Ming"))
	lesson := e.lesson(session)
	other, checks := *e, 0
	other.serve(func(c *feedback.Config, h *feedbackhttp.Config) {
		c.Store = &overtaken{Store: e.store, event: func() {
			e.do("POST", "/feedback-lessons/"+lesson+"/finish", nil).want(200)
		}}
		h.Authenticate = func(ctx context.Context, header http.Header) (uuid.UUID, error) {
			if checks++; checks > 1 {
				return uuid.Nil, errors.New("logged out")
			}
			return teacherOf(ctx, header)
		}
	})
	got := other.do("GET", "/feedback-sessions/"+session+"/events", nil).want(200).Body.String()
	require.Regexp(t, `^retry: 2000\nid: \d+\n\n$`, got)
}

// streamUntil opens a stream of events on a fake clock, where each check of the sign-in after the
// first fails with the next of errs, and returns the stream and how long it was open.
func streamUntil(t *testing.T, errs ...error) (body string, open time.Duration) {
	t.Helper()
	e := newEnv(t)
	session := e.session(e.profile("Ming"))
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		e.handler = feedbackhttp.Handler(feedbackhttp.Config{Service: e.svc,
			Authenticate: func(context.Context, http.Header) (uuid.UUID, error) {
				checks++
				if checks == 1 {
					return e.teacher, nil
				}
				return e.teacher, errs[checks-2]
			}})
		began := time.Now()
		answer := e.do("GET", "/feedback-sessions/"+session+"/events", nil).want(200)
		require.Equal(t, "text/event-stream", answer.Header().Get("Content-Type"))
		body = answer.Body.String()
		open = time.Since(began)
		require.Equal(t, len(errs)+1, checks)
	})
	return body, open
}

// A client reuses the connection of a HEAD request as soon as it has the header.
func TestEventStreamIsNotOpenedForItsHeader(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session := e.session(e.profile("Ming"))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, "HEAD", "/api/v1/feedback-sessions/"+session+"/events", nil)
		r.Header.Set("X-Teacher", e.teacher.String())
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, r)
		require.NoError(t, ctx.Err(), "the stream stayed open")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
		require.Zero(t, w.Body.Len())
	})
}

// Without Flush, nothing would ever arrive, and nobody would learn why.
func TestEventStreamBehindAMiddlewareWithoutFlush(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var log bytes.Buffer
	e.serve(func(_ *feedback.Config, h *feedbackhttp.Config) { h.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	session := e.session(e.profile("Ming"))
	r := httptest.NewRequest("GET", "/api/v1/feedback-sessions/"+session+"/events", nil)
	r.Header.Set("X-Teacher", e.teacher.String())
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		e.handler.ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, r)
	})
	require.Contains(t, log.String(), "has neither Flush nor Unwrap")
}

func TestEventStreamEndsWithTheLogout(t *testing.T) {
	t.Parallel()
	body, open := streamUntil(t, errors.New("logged out"))
	require.Equal(t, "retry: 2000\nid: 1\n\n", body, "the id of the state so far")
	require.Equal(t, 15*time.Second, open)
}

func TestEventStreamOutlastsADatabaseOutage(t *testing.T) {
	t.Parallel()
	away := fault{permanent: false, after: 5 * time.Second}
	body, open := streamUntil(t, away, nil, huma.Error401Unauthorized("logged out"))
	require.Equal(t, 2, strings.Count(body, ": still here"))
	require.Equal(t, 45*time.Second, open)
}
