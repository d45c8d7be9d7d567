//go:build linux

package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

func openLesson(t *testing.T, c feedbackclient.Client) (
	feedbackclient.Profile, feedbackclient.Session, feedbackclient.Lesson,
) {
	t.Helper()
	p, err := c.EnsureProfile(t.Context(), "Someone small")
	require.NoError(t, err)
	session, err := c.OpenSession(t.Context(), p.ID)
	require.NoError(t, err)
	lesson, err := c.StartLesson(t.Context(), session.ID)
	require.NoError(t, err)
	return p, session, lesson
}

func (s *service) lesson(t *testing.T, sessionID string) feedbackclient.Lesson {
	t.Helper()
	session, err := s.client.Session(t.Context(), sessionID)
	require.NoError(t, err)
	require.NotEmpty(t, session.Lessons)
	return session.Lessons[0]
}

// settled reports whether each segment has one of the states.
func (s *service) settled(t *testing.T, sessionID string, states ...string) bool {
	t.Helper()
	return !slices.ContainsFunc(s.lesson(t, sessionID).Segments, func(segment feedbackclient.Segment) bool {
		return !slices.Contains(states, segment.State)
	})
}

func TestSpokenLessonBecomesRecord(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, url string) {
		addr := freePort(t)
		startSpeech(t, addr)
		spokenLesson(t, newService(t, url, "http://"+addr))
	})
}

// spokenLesson makes a record of two spoken segments.
func spokenLesson(t *testing.T, s *service) {
	t.Helper()
	s.start(t)
	eventually(t, "speech is available", func() bool {
		h, err := s.client.Health(t.Context())
		return err == nil && h.SpeechAvailable && h.Status == "ok"
	})

	p, session, lesson := openLesson(t, s.client)
	for i, name := range []string{"lesson1-segment0", "lesson1-segment1"} {
		seg, err := s.client.Upload(t.Context(), lesson.ID, i, name+".mp3", sample(t, name))
		require.NoError(t, err)
		require.Equal(t, "queued", seg.State, "answered before there is text")
	}
	_, err := s.client.FinishLesson(t.Context(), lesson.ID)
	require.NoError(t, err)
	eventually(t, "both segments have text", func() bool { return s.settled(t, session.ID, "transcribed", "failed") })
	require.Equal(t,
		"This was a very good lesson. We talked about light and shadow. She finished the picture with great care.",
		strings.Join(strings.Fields(s.lesson(t, session.ID).Transcript), " "))

	g, err := s.client.Generate(t.Context(), session.ID, []string{lesson.ID})
	require.NoError(t, err)
	r, err := s.client.SaveRecord(t.Context(), p.ID, session.ID, "2026-03-01", g.Text)
	require.NoError(t, err)
	for _, said := range []string{"we talked about light and shadow", "she finished the picture with great care"} {
		require.Contains(t, strings.ToLower(r.Content), said)
	}
	require.NoError(t, s.process.stop(t), "SIGTERM ends the server in order")
}

// endedDuringTranscription ends a server while it transcribes, starts it again, and returns the
// segment when it has its text.
func endedDuringTranscription(t *testing.T, url string, end func(s *service)) feedbackclient.Segment {
	t.Helper()
	speech := newSlowSpeech(t)
	s := newService(t, url, speech.URL)
	s.start(t)
	_, session, lesson := openLesson(t, s.client)
	_, err := s.client.Upload(t.Context(), lesson.ID, 0, "a.mp3", sample(t, "lesson1-segment1"))
	require.NoError(t, err)
	<-speech.started
	require.Equal(t, "transcribing", s.lesson(t, session.ID).Segments[0].State)
	end(s)

	close(speech.release)
	began := time.Now()
	s.start(t)
	eventually(t, "the text arrives", func() bool {
		return s.lesson(t, session.ID).Segments[0].State == "transcribed"
	})
	require.Less(t, time.Since(began), time.Minute, "a dead worker is noticed within a minute, whatever the lease")
	return s.lesson(t, session.ID).Segments[0]
}

func TestKillDuringTranscriptionLosesNothing(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		segment := endedDuringTranscription(t, url, func(s *service) { s.process.kill() })
		require.Equal(t, "Heard.", segment.Text)
		require.Equal(t, 2, segment.Attempts)
	})
}

func TestStopDuringTranscriptionGivesTheJobBack(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		segment := endedDuringTranscription(t, url, func(s *service) { require.NoError(t, s.process.stop(t)) })
		require.Equal(t, 1, segment.Attempts, "given back: the end of the lease would have cost an attempt")
	})
}

func TestWithoutDatabase(t *testing.T) {
	t.Parallel()
	addr := freePort(t)
	s := &service{env: []string{"HTTP_ADDR=" + addr, "ALLOW_DEVELOPMENT_USER_HEADER=true"},
		client: feedbackclient.Development("http://"+addr, "someone")}
	s.start(t)
	h, err := s.client.Health(t.Context())
	require.NoError(t, err)
	require.False(t, h.Database.Configured)
	require.Equal(t, "degraded", h.Status)

	var doc struct{ Paths map[string]map[string]any }
	require.NoError(t, s.client.Call(t.Context(), http.MethodGet, "/openapi.json", nil, &doc))
	tried := 0
	for template, methods := range doc.Paths {
		if !strings.HasPrefix(template, "/api/v1/") {
			continue
		}
		path := regexp.MustCompile(`{\w+}`).ReplaceAllString(template, "0197a000-0000-7000-8000-000000000000")
		for method := range methods {
			for _, client := range []feedbackclient.Client{s.client, {Base: s.client.Base}} { // signed in or not
				err := client.Call(t.Context(), strings.ToUpper(method), path, nil, nil)
				require.ErrorContains(t, err, "503 database_not_configured: ", "%s %s", method, template)
				tried++
			}
		}
	}
	require.Greater(t, tried, 80)
	require.NoError(t, s.process.stop(t))
}

func TestDatabaseNotMigratedIs503UntilItIs(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, url string) {
		addr := freePort(t)
		s := &service{
			env: []string{"DATABASE_URL=" + url, "HTTP_ADDR=" + addr, "AUDIO_STORAGE_DIR=" + t.TempDir(),
				"ALLOW_DEVELOPMENT_USER_HEADER=true"},
			client: feedbackclient.Development("http://"+addr, "someone"),
		}
		s.start(t)
		var p *feedbackclient.Problem
		_, err := s.client.EnsureProfile(t.Context(), "x")
		require.ErrorAs(t, err, &p)
		require.Equal(t, http.StatusServiceUnavailable, p.Status)
		require.ErrorAs(t, s.client.Call(t.Context(), "GET", "/readyz", nil, nil), &p)
		require.Equal(t, http.StatusServiceUnavailable, p.Status)

		migrate := start(t, "feedback-server", s.env, "migrate")
		<-migrate.done
		require.NoError(t, migrate.err, migrate.log)
		eventually(t, "ready without a restart", func() bool {
			return s.client.Call(t.Context(), "GET", "/readyz", nil, nil) == nil
		})
		_, err = s.client.EnsureProfile(t.Context(), "x")
		require.NoError(t, err)
	})
}
