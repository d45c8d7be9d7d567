package feedbackhttp_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbacktest"
)

// TestEventStream follows a session over a real connection.
func TestEventStream(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session := e.session(e.profile("Ming"))
	lesson := e.lesson(session)
	next := stream(t, e.handler, e.teacher, session, "0")
	first := next()
	require.Equal(t, "lesson", first.Name)
	require.Equal(t, lesson, first.Lesson.ID)

	segment := e.upload(lesson, recording("x")).want(202).str("segment_id")
	state := func() string {
		event := next()
		require.Equal(t, "segment", event.Name)
		require.Equal(t, lesson, event.LessonID)
		require.Equal(t, segment, event.Segment.ID)
		return event.Segment.State
	}
	require.Equal(t, "queued", state())
	e.work()
	last := state()
	if last == "transcribing" { // not reported if the segment was transcribed by the next look
		last = state()
	}
	require.Equal(t, "transcribed", last)
	// Cut off after the first event: each change that was missed is reported with its last
	// state.
	again := stream(t, e.handler, e.teacher, session, first.ID)()
	require.Equal(t, "transcribed", again.Segment.State)

	e.do("GET", "/feedback-sessions/"+session+"/events", nil, "Last-Event-ID", "x").want(422)
}

// TestCutUploadLeavesNothing drops the connection in the middle of a form.
func TestCutUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	answered := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		e.handler.ServeHTTP(rec, r)
		answered <- rec.Code
	}))
	defer server.Close()
	lesson := e.lesson(e.session(e.profile("Ming")))
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, "POST /api/v1/feedback-lessons/"+lesson+
		"/segments HTTP/1.1\r\nHost: x\r\nX-Teacher: "+e.teacher.String()+
		"\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 500000\r\n\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n"+
		string(feedbacktest.MP3(strings.Repeat("x", 200_000))))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(e.files()) == 1 }, time.Minute, time.Millisecond,
		"it is being received")
	require.NoError(t, conn.Close())
	require.Equal(t, 400, <-answered)
	require.Empty(t, e.files())
	require.Zero(t, e.count("feedback_segments"))
	require.Zero(t, e.count("test_jobs"))
}

// TestTooLargeIsAnsweredOverARealConnection: the client must hear the answer
// although most of what it sends is never read.
func TestTooLargeIsAnsweredOverARealConnection(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	server := httptest.NewServer(e.handler)
	defer server.Close()
	lesson := e.lesson(e.session(e.profile("Ming")))
	for _, size := range []int64{2 << 20, 30 << 20} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/api/v1/feedback-lessons/"+lesson+
			"/segments", io.LimitReader(&counter{}, size))
		require.NoError(t, err)
		r.Header.Set("X-Teacher", e.teacher.String())
		r.Header.Set("Content-Type", "audio/mpeg")
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err, strconv.FormatInt(size, 10))
		require.Equal(t, 413, res.StatusCode)
		require.NoError(t, res.Body.Close())
	}
	require.Empty(t, e.files())
}
