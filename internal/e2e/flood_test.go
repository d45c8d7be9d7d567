//go:build linux

package e2e

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authtest"
)

// A client that floods the sign-in is limited before it reaches the platform, whatever
// X-Forwarded-For it sends; others sign in meanwhile.
func TestLoginFlood(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		s := newSecured(t, url)
		before := s.platform.Exchanges()
		flooder := newAddress()
		var limited, refused atomic.Int64
		var flood sync.WaitGroup
		tries := times(200, 1000, 5000)
		for worker := range 10 {
			flood.Go(func() {
				for i := range tries / 10 {
					// The proxy appends to the addresses that the client made up.
					a := s.send(t, request{method: "POST", path: "/api/v1/auth/miniapp/login",
						body:   map[string]string{"code": "guess-" + strconv.Itoa(worker*1000+i)},
						header: http.Header{"X-Forwarded-For": {newAddress() + ", " + flooder}}})
					switch a.status {
					case http.StatusTooManyRequests:
						limited.Add(1)
						if after, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || after < 1 {
							t.Errorf("429 without Retry-After: %q", a.header)
						}
					case http.StatusUnauthorized:
						refused.Add(1)
					default:
						t.Errorf("%d %s", a.status, a.body)
					}
				}
			})
		}
		for range 5 {
			s.login(t) // from other addresses
		}
		flood.Wait()
		reached := s.platform.Exchanges() - before - 5
		sum(t, "%d concurrent sign-ins: %d limited, %d reached the platform", tries, limited.Load(), reached)
		require.EqualValues(t, refused.Load(), reached)
		require.LessOrEqual(t, reached, 50+int(time.Minute/(3*time.Second)), "the burst, and what a minute allows")
		require.Greater(t, limited.Load(), refused.Load())
	})
}

// While the platform hangs, sign-ins time out and everything else works.
func TestPlatformHangs(t *testing.T) {
	slow(t)
	s := newSecured(t, "sqlite:"+filepath.Join(t.TempDir(), "lessonkit.db"))
	release := make(chan struct{})
	defer close(release)
	s.platform.Behave(authtest.Hang(release))
	var logins sync.WaitGroup
	for range 20 {
		logins.Go(func() {
			a := s.send(t, request{method: "POST", path: "/api/v1/auth/miniapp/login",
				body:   map[string]string{"code": secret(s.platform.Code(authtest.User{OpenID: "x"}))},
				header: http.Header{"X-Forwarded-For": {newAddress()}}})
			if a.status != http.StatusGatewayTimeout || a.text("code") != "login_upstream_error" {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	for range 20 {
		began := time.Now()
		require.Equal(t, http.StatusOK,
			s.send(t, request{method: "GET", path: "/api/v1/profiles", header: bearer(s.owner)}).status)
		require.Less(t, time.Since(began), 5*time.Second)
	}
	logins.Wait()
}

// Requests that arrive very slowly are ended.
func TestSlowRequestsAreEnded(t *testing.T) {
	slow(t)
	s := newSecured(t, "sqlite:"+filepath.Join(t.TempDir(), "lessonkit.db"))
	authorization := "Host: x\r\nAuthorization: Bearer " + s.owner + "\r\n"
	segments := "/api/v1/feedback-lessons/" + s.ids["lesson_id"] + "/segments"
	for _, c := range []struct {
		name, text, drop string
		within           time.Duration
	}{
		{name: "nothing", within: 30 * time.Second},
		{name: "half a header", text: "GET /health HTTP/1.1\r\nHost: x\r\nX-", within: 30 * time.Second},
		{name: "header byte by byte", text: "GET /health HTTP/1.1\r\nHost: x\r\nX-", drop: "a",
			within: 30 * time.Second},
		{name: "half a JSON body", text: "POST /api/v1/profiles HTTP/1.1\r\n" + authorization +
			"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{", within: 60 * time.Second},
		{name: "JSON body byte by byte", text: "POST /api/v1/profiles HTTP/1.1\r\n" + authorization +
			"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{", drop: " ", within: 60 * time.Second},
		{name: "sign-in byte by byte",
			text: "POST /api/v1/auth/miniapp/login HTTP/1.1\r\nHost: x\r\n" +
				"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{",
			drop: " ", within: 60 * time.Second},
		{name: "unexpected body", text: "GET /api/v1/profiles HTTP/1.1\r\n" + authorization +
			"Content-Length: 100000\r\n\r\n", within: 30 * time.Second},
		{name: "upload without a token",
			text: "POST " + segments +
				" HTTP/1.1\r\nHost: x\r\nContent-Type: audio/wav\r\nContent-Length: 100000\r\n\r\n",
			within: 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", s.value("HTTP_ADDR"))
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, c.text)
			require.NoError(t, err)
			began := time.Now()
			ended := make(chan struct{})
			var drops sync.WaitGroup
			if c.drop != "" {
				drops.Go(func() {
					for {
						select {
						case <-ended:
							return
						case <-time.After(300 * time.Millisecond):
							io.WriteString(conn, c.drop)
						}
					}
				})
			}
			conn.SetReadDeadline(began.Add(c.within))
			got, err := io.ReadAll(conn)
			close(ended)
			drops.Wait()
			if err != nil && strings.Contains(err.Error(), "i/o timeout") {
				t.Fatalf("still open after %v: %q", c.within, got)
			}
			status, _, _ := strings.Cut(string(got), "\r\n")
			require.NotContains(t, status, " 5", "a server error")
			sum(t, "ended after %v: %q", time.Since(began).Round(time.Second), status)
		})
	}
}

// Responses that are not read are ended, and their files closed.
func TestUnreadResponsesAreEnded(t *testing.T) {
	slow(t)
	if *faults == "" || *faults == "few" {
		t.Skip("takes a minute")
	}
	s := newSecured(t, "sqlite:"+filepath.Join(t.TempDir(), "lessonkit.db"), "LIMIT_REQUESTS=64")
	a := s.send(t, s.form(t, "file", "a.wav", wav(900_000)))
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	before := s.gauges(t)
	const count = 30
	get := "GET /api/v1/audio-segments/" + a.text("segment_id") +
		"/audio HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.owner + "\r\n\r\n"
	for range count {
		conn, err := net.Dial("tcp", s.value("HTTP_ADDR"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, strings.Repeat(get, 20)) // more than sockets hold
		require.NoError(t, err)
	}
	waiting := before.files + 2*count - 10 // some of those before are closed
	eventually(t, "responses wait", func() bool { return s.gauges(t).files >= waiting })
	began := time.Now()
	eventually(t, "responses are ended", func() bool { return s.gauges(t).files <= before.files+5 })
	sum(t, "%d unread responses ended after %v", count, time.Since(began).Round(time.Second))
}
