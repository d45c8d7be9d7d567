//go:build linux

package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Many phones at once: the server's memory and files do not grow with time.
func TestManyPhones(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.env = append(s.env, "ASR_WORKER_CONCURRENCY=8")
		s.start(t)
		phones, long := times(50, 200, 200), times(6*time.Second, 15*time.Second, time.Minute)
		l := startLoad(t, phones, 2*time.Second, s)
		time.Sleep(long / 2)
		half := s.gauges(t)
		time.Sleep(long / 2)
		end := s.gauges(t)
		l.stop()
		l.http.CloseIdleConnections()
		var after gauges
		eventually(t, "files are closed again", func() bool {
			after = s.gauges(t)
			return after.files < 100
		})
		sum(t, "%d phones for %v: p50 %v, p99 %v; memory %d MB at half time, %d MB at the end; "+
			"files %d, %d, %d afterwards",
			phones, long, l.percentile(.5), l.percentile(.99), half.memory>>20, end.memory>>20, half.files, end.files,
			after.files)
		require.Less(t, l.percentile(.99), 5*time.Second)
		require.Less(t, end.memory, half.memory*3/2+(32<<20), "memory")
		require.Less(t, end.files, half.files*3/2+50, "files")
		require.Zero(t, l.refused.Load(), "refused")
		l.audit(t, s, rec)
	})
}

// gauges are metrics of a server's process.
type gauges struct{ memory, files int64 }

func (s *service) gauges(t *testing.T) (g gauges) {
	t.Helper()
	g.memory = int64(s.metric(t, "process_resident_memory_bytes"))
	g.files = int64(s.metric(t, "process_open_fds"))
	return g
}

// metric returns a metric without labels, which must be there and positive.
func (s *service) metric(t *testing.T, name string) float64 {
	t.Helper()
	resp, err := http.Get(s.client.Base + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	var number float64
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if n, value, _ := strings.Cut(lines.Text(), " "); n == name {
			number, _ = strconv.ParseFloat(value, 64)
		}
	}
	require.Positive(t, number, name)
	return number
}

// Connections that send nothing, or stop in the middle, delay nobody.
func TestStalledConnectionsDelayNobody(t *testing.T) {
	t.Parallel()
	rec := newRecogniser(t)
	s := newService(t, "sqlite:"+t.TempDir()+"/lessonkit.db", rec.url())
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
	s.start(t)
	_, _, lesson := s.openLesson(t)
	before := s.gauges(t)

	count := times(300, 1000, 1000)
	upload := "POST /api/v1/feedback-lessons/" + lesson.ID +
		"/segments HTTP/1.1\r\nHost: phone\r\nX-Development-User: someone\r\n" +
		"Content-Type: audio/wav\r\nContent-Length: 100000\r\n\r\n"
	starts := []string{
		"", // nothing
		"GET /health HTTP/1.1\r\nHost: pho",
		upload,
		upload + string(newRecording().bytes()[:300]),
		"POST /api/v1/profiles HTTP/1.1\r\nHost: phone\r\nX-Development-User: someone\r\n" +
			"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"name\":",
		// Never reads the answer:
		"GET /api/v1/profiles HTTP/1.1\r\nHost: phone\r\nX-Development-User: someone\r\n\r\n",
	}
	conns := make([]net.Conn, count)
	for i := range conns {
		conn, err := net.Dial("tcp", s.value("HTTP_ADDR"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, starts[i%len(starts)])
		require.NoError(t, err)
		conns[i] = conn
	}
	l := startLoad(t, 8, 100*time.Millisecond, s)
	time.Sleep(times(3*time.Second, 10*time.Second, time.Minute))
	l.stop()
	during := s.gauges(t)
	for _, conn := range conns {
		conn.Close()
	}
	l.http.CloseIdleConnections()
	var after gauges
	eventually(t, "the files of stalled connections are closed", func() bool {
		after = s.gauges(t)
		return after.files <= before.files+30
	})
	sum(t, "%d stalled connections: others' p99 %v; memory %d MB before, %d MB with them; files %d, %d, %d",
		count, l.percentile(.99), before.memory>>20, during.memory>>20, before.files, during.files, after.files)
	require.Zero(t, l.refused.Load())
	require.Less(t, l.percentile(.99), 5*time.Second)
	l.audit(t, s, rec)
}
