package feedbackhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackhttp"
)

// pipes is a listener of connections in memory, whose deadlines follow a fake clock.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// serveOnce serves one connection on a fake clock. It must be called in a bubble.
func (e *env) serveOnce(t *testing.T) net.Conn {
	l := make(pipes, 1)
	server := &http.Server{Handler: e.handler}
	go server.Serve(l)
	client, conn := net.Pipe()
	l <- conn
	t.Cleanup(func() {
		client.Close()
		server.Close()
		time.Sleep(time.Second) // the server waits before it closes a connection
	})
	return client
}

func TestSlowUploadsEnd(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	lesson := e.lesson(e.session(e.profile("Ming")))
	for _, c := range []struct {
		name  string
		form  string // how the form begins, if it is one
		every time.Duration
		bytes int
		ends  bool
	}{
		{"a byte in ten seconds", "", 10 * time.Second, 1, true},
		{"900 bytes a second", "", time.Second, 900, true},
		{"1100 bytes a second", "", time.Second, 1100, false},
		{"a pause of half a minute", "", 30 * time.Second, 100 << 10, false},
		{"half a form", "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nID3", 10 * time.Second, 1, true},
		{"half a part's header", "--b\r\nContent-Disposition: form", 10 * time.Second, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size = 600 << 10
				conn := e.serveOnce(t)
				answer := make(chan *http.Response, 1)
				go func() {
					resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err == nil {
						answer <- resp
					}
				}()
				contentType := "audio/mpeg"
				if c.form != "" {
					contentType = "multipart/form-data; boundary=b"
				}
				fmt.Fprintf(conn, "POST /api/v1/feedback-lessons/%s/segments HTTP/1.1\r\nHost: x\r\nX-Teacher: %s\r\n"+
					"Content-Type: %s\r\nContent-Length: %d\r\n\r\n%s", lesson, e.teacher, contentType, size, c.form)
				began := time.Now()
				for sent := 0; sent < size; sent += c.bytes {
					if _, err := conn.Write(bytes.Repeat([]byte("x"), min(c.bytes, size-sent))); err != nil {
						break
					}
					time.Sleep(c.every)
					if len(answer) > 0 {
						break
					}
				}
				resp := <-answer
				if c.ends {
					require.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
					require.LessOrEqual(t, time.Since(began), 70*time.Second)
				} else {
					require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode, "the whole upload was read")
				}
			})
		})
	}
	require.Empty(t, e.files())
}

func TestFormsHaveFewPartsWithSmallHeaders(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	lesson := e.lesson(e.session(e.profile("Ming")))
	sequence := "--b\r\nContent-Disposition: form-data; name=\"sequence\"\r\n\r\n1\r\n"
	for name, form := range map[string]string{
		"one long header":  "--b\r\nX-Header: " + strings.Repeat("x", 9<<20),
		"many headers":     "--b\r\n" + strings.Repeat("X-Header: x\r\n", 700_000),
		"a long preamble":  strings.Repeat("x\r\n", 300_000),
		"many parts":       strings.Repeat(sequence, 10_000),
		"a later header":   sequence + "--b\r\nX-Header: " + strings.Repeat("x", 9<<20),
		"an endless value": strings.TrimSuffix(sequence, "1\r\n") + strings.Repeat("0", 9<<20),
	} {
		t.Run(name, func(t *testing.T) {
			body := &countingReader{Reader: strings.NewReader(form)}
			path := "/api/v1/feedback-lessons/" + lesson + "/segments"
			r := httptest.NewRequestWithContext(t.Context(), "POST", path, body)
			r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			a := e.send(r)
			require.Contains(t, []int{400, 422}, a.Code, a.Body)
			require.Less(t, body.read, 300<<10, "bytes read")
		})
	}
	many := make([]part, 0, 17)
	for range 15 {
		many = append(many, part{name: "sequence", value: "1"})
	}
	e.upload(lesson, append(many, recording("x"))...).want(202)
	e.upload(lesson, append(many, part{name: "sequence", value: "1"}, recording("x"))...).want(400, "malformed_form")
}

type countingReader struct {
	io.Reader
	read int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read += n
	return n, err
}

func TestRequestsOfATeacherAreLimited(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session := e.session(e.profile("Ming"))
	stranger := e.teacher
	e.teacher = uuid.New()
	other := e.session(e.profile("Wei"))
	otherTeacher := e.teacher
	e.teacher = stranger
	synctest.Test(t, func(t *testing.T) {
		e.handler = feedbackhttp.Handler(feedbackhttp.Config{
			Service: e.svc, Authenticate: teacherOf, MaxRequests: 4, MaxRequestsInAll: 5,
			MaxStreams: 2, MaxStreamsInAll: 3,
		})
		open := func(teacher uuid.UUID, session string) (a *httptest.ResponseRecorder, end func()) {
			ctx, cancel := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/feedback-sessions/"+session+"/events", nil)
			r.Header.Set("X-Teacher", teacher.String())
			a = httptest.NewRecorder()
			ended := make(chan struct{})
			go func() {
				e.handler.ServeHTTP(a, r)
				close(ended)
			}()
			synctest.Wait()
			return a, func() { cancel(); <-ended }
		}
		_, end1 := open(e.teacher, session)
		_, end2 := open(e.teacher, session)
		a, _ := open(e.teacher, session)
		require.Equal(t, 429, a.Code, "the teacher's third stream")
		require.NotEmpty(t, a.Header().Get("Retry-After"))
		require.Contains(t, a.Body.String(), "too_many_requests")
		_, end3 := open(otherTeacher, other)
		a, _ = open(otherTeacher, other)
		require.Equal(t, 429, a.Code, "the fourth stream in all")
		end1()
		_, end4 := open(otherTeacher, other)

		// Requests whose bodies do not arrive: four of one teacher, one of another.
		body, finish := io.Pipe()
		var slow []chan int
		for i := range 5 {
			done := make(chan int, 1)
			slow = append(slow, done)
			go func() {
				r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/profiles", body)
				r.Header.Set("Content-Type", "application/json")
				if i == 4 {
					r.Header.Set("X-Teacher", otherTeacher.String())
				}
				done <- e.send(r).Code
			}()
			synctest.Wait()
			if i == 3 {
				e.do("GET", "/profiles", nil).want(429, "too_many_requests")
				e.do("GET", "/profiles", nil, "X-Teacher", otherTeacher.String()).want(200)
			}
		}
		e.teacher = otherTeacher
		e.do("GET", "/profiles", nil).want(429, "too_many_requests")
		e.upload(uuid.NewString(), recording("x")).want(404)
		e.teacher = stranger
		finish.Close()
		for _, done := range slow {
			<-done
		}
		e.do("GET", "/profiles", nil).want(200)
		end2()
		end3()
		end4()
	})
}
