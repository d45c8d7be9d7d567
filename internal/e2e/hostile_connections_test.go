//go:build linux

package e2e

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One teacher opens a thousand connections of one kind at once and lets them drip. The others are
// hardly slowed down, and the server's memory stays bounded.
func TestHostileConnections(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4", "LOG_LEVEL=warn", "LIMIT_SEGMENTS_PER_DAY=-1")
		s.start(t)
		_, session, lesson := openLesson(t, s.as("hostile"))
		l := startLoad(t, 4, 50*time.Millisecond, s)
		head := func(line string) string {
			return line + " HTTP/1.1\r\nHost: " + s.value("HTTP_ADDR") + "\r\nX-Development-User: hostile\r\n"
		}
		segments := head("POST /api/v1/feedback-lessons/" + lesson.ID + "/segments")
		body := func(contentType string) string {
			return "Content-Type: " + contentType + "\r\nContent-Length: 100000000\r\n\r\n"
		}
		count, most := times(200, 1000, 1000), int64(0)
		for _, kind := range []struct{ name, text, drop string }{
			{"idle connections", "", ""},
			{"headers byte by byte", "GET /health HTTP/1.1\r\nHost: x\r\nX-", "a"},
			{"uploads byte by byte", segments + body("audio/mpeg") + strings.Repeat("x", 200_000), "x"},
			{"part headers without end", segments + body("multipart/form-data; boundary=b") + "--b\r\nX-Header: " +
				strings.Repeat("x", 1<<20), "x"},
			{"JSON bodies byte by byte", head("POST /api/v1/profiles") + "Content-Type: application/json\r\n" +
				"Content-Length: 260000\r\n\r\n{\"name\":\"" + strings.Repeat("x", 250_000), "x"},
			{"sign-ins byte by byte", head("POST /api/v1/auth/miniapp/login") + "Content-Type: application/json\r\n" +
				"Content-Length: 4000\r\n\r\n{\"code\":\"", "x"},
			{"event streams", head("GET /api/v1/feedback-sessions/"+session.ID+"/events") + "\r\n", ""},
			{"answers that are not read", strings.Repeat(head("GET /openapi.json")+"\r\n", 3), ""},
		} {
			stop := attack(t, s.value("HTTP_ADDR"), count, kind.text, kind.drop)
			time.Sleep(times(time.Second, 2*time.Second, 3*time.Second))
			most = max(most, s.gauges(t).memory)
			stop()
		}
		tally := audit(t, l, s, rec)
		require.Empty(t, tally.Failures)
		sum(t, "%d hostile connections at once: p99 of the others %v, %d MB", count, tally.P99, most>>20)
		if *faults == "full" { // which has a machine of its own
			require.Less(t, tally.P99, 2*time.Second)
			require.Less(t, most, int64(400<<20))
		}
	})
}

// attack opens connections and returns a function that closes them.
func attack(t *testing.T, address string, count int, text, drop string) (stop func()) {
	t.Helper()
	conns := make([]net.Conn, count)
	var opening sync.WaitGroup
	for worker := range 20 {
		opening.Go(func() {
			for i := worker; i < count; i += 20 {
				conn, err := net.DialTimeout("tcp", address, 10*time.Second)
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				conns[i] = conn
				conn.SetWriteDeadline(time.Now().Add(time.Second))
				io.WriteString(conn, text) // the server may refuse, and need not read it all
			}
		})
	}
	opening.Wait()
	done := make(chan struct{})
	var dripping sync.WaitGroup
	dripping.Go(func() {
		for tick := time.NewTicker(time.Second); drop != ""; {
			select {
			case <-done:
				return
			case <-tick.C:
				for _, conn := range conns {
					if conn != nil {
						conn.SetWriteDeadline(time.Now().Add(time.Millisecond))
						io.WriteString(conn, drop)
					}
				}
			}
		}
	})
	return func() {
		close(done)
		dripping.Wait()
		for _, conn := range conns {
			if conn != nil {
				conn.Close()
			}
		}
	}
}
