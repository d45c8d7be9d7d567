//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// memoryBound is how much more memory the server may take under an attack than when it is idle.
const memoryBound = 200 << 20

// One teacher opens a thousand connections of one kind at once and lets them drip. The others are
// hardly slowed down, and the server's memory stays bounded.
func TestHostileConnections(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		s := newService(t, url, newRecogniser(t).url())
		s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4", "LOG_LEVEL=warn", "LIMIT_SEGMENTS_PER_DAY=-1")
		s.start(t)
		_, session, lesson := lessonOf(t, s.as("hostile"))
		h := newHonest(t, s, 4)
		head := func(line string) string {
			return line + " HTTP/1.1\r\nHost: " + s.value("HTTP_ADDR") + "\r\nX-Development-User: hostile\r\n"
		}
		segments := head("POST /api/v1/feedback-lessons/" + lesson + "/segments")
		body := func(contentType string) string {
			return "Content-Type: " + contentType + "\r\nContent-Length: 100000000\r\n\r\n"
		}
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
			{"event streams", head("GET /api/v1/feedback-sessions/"+session+"/events") + "\r\n", ""},
			{"answers that are not read", strings.Repeat(head("GET /openapi.json")+"\r\n", 3), ""},
		} {
			h.underAttack(t, s, kind.name, kind.text, kind.drop)
		}
	})
}

// honest are teachers at work.
type honest struct {
	clients           []feedbackclient.Client
	sessions, lessons []string // the session is not the lesson's, whose answers grow
	memory            int64    // of the server while only they work
}

func newHonest(t *testing.T, s *service, teachers int) *honest {
	h := &honest{}
	for i := range teachers {
		c := s.as(fmt.Sprint("honest-", i))
		c.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
		t.Cleanup(c.HTTP.CloseIdleConnections)
		_, _, lesson := lessonOf(t, c)
		p, err := c.EnsureProfile(t.Context(), "Another")
		require.NoError(t, err)
		session, err := c.OpenSession(t.Context(), p.ID)
		require.NoError(t, err)
		h.clients = append(h.clients, c)
		h.sessions, h.lessons = append(h.sessions, session.ID), append(h.lessons, lesson)
	}
	return h
}

// work saves, reads and uploads for a while and returns the 99th percentile of the requests.
func (h *honest) work(t *testing.T, long time.Duration) time.Duration {
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var failed []error
	var teachers sync.WaitGroup
	for i, c := range h.clients {
		teachers.Go(func() {
			requests := []func() error{
				func() error {
					return c.Call(t.Context(), http.MethodPut, "/api/v1/feedback-sessions/"+h.sessions[i],
						map[string]string{"feedback_text": "Ming mixed greens."}, nil)
				},
				func() error {
					return c.Call(t.Context(), http.MethodGet, "/api/v1/profiles", nil, nil)
				},
				func() error {
					audio := wav(20_000)
					_, err := c.UploadRecording(t.Context(), h.lessons[i],
						feedbackclient.Recording{Audio: bytes.NewReader(audio)})
					return err
				},
			}
			for end, n := time.Now().Add(long), 0; time.Now().Before(end); n++ {
				began := time.Now()
				err := requests[n%len(requests)]()
				mu.Lock()
				took = append(took, time.Since(began))
				if err != nil {
					failed = append(failed, err)
				}
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	teachers.Wait()
	require.Empty(t, failed, "honest requests that failed")
	slices.Sort(took)
	return took[len(took)*99/100]
}

// underAttack measures the honest teachers without and with hostile connections, which send text
// and then drop after drop. The other database's test shares the machine: the best of a few rounds
// counts. The ratio of the times counts with -faults=full, which wants a machine of its own.
func (h *honest) underAttack(t *testing.T, s *service, name, text, drop string) {
	t.Helper()
	count := times(200, 1000, 1000)
	long := times(time.Second, 2*time.Second, 3*time.Second)
	const rounds = 5
	for round := 1; ; round++ {
		idle := h.work(t, long)
		if h.memory == 0 {
			h.memory = s.gauges(t).memory
		}
		stop := attack(t, s.value("HTTP_ADDR"), count, text, drop)
		attacked := h.work(t, long)
		more := s.gauges(t).memory - h.memory
		stop()
		require.Less(t, more, int64(memoryBound), name)
		if attacked <= 2*idle || round == rounds {
			sum(t, "%d %s: honest p99 %v, idle %v; memory %+d MB (round %d)", count, name,
				attacked.Round(100*time.Microsecond), idle.Round(100*time.Microsecond), more>>20, round)
			if *faults == "full" {
				require.LessOrEqual(t, attacked, 2*idle, name)
			}
			return
		}
	}
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
