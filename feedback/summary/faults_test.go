package summary

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFaults returns each fault on every attempt, and checks the number of attempts, the time they
// take and the error.
func TestFaults(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"error":{"message":"key %s is bad, you sent %s","code":%q}}`, testKey, secret, secret)
		}
	}
	body := func(s string) func(http.ResponseWriter) { return func(w http.ResponseWriter) { fmt.Fprint(w, s) } }
	for _, c := range []struct {
		name     string
		fault    func(http.ResponseWriter)
		attempts int
		text     string
		within   time.Duration
	}{
		{"429", status(429), 4, "429 Too Many Requests", 10 * time.Second},
		{"429 with a time that fits", status(429, "Retry-After", "7"), 4, "429", 22 * time.Second},
		{"429 with a time that does not fit", status(429, "Retry-After", "3600"), 1, "429", time.Second},
		{"429 with a quota used up", func(w http.ResponseWriter) {
			w.WriteHeader(429)
			fmt.Fprint(w, `{"error":{"code":"insufficient_quota"}}`)
		}, 1, "insufficient_quota", time.Second},
		{"500", status(500), 4, "500", 10 * time.Second},
		{"503 until a date",
			status(503, "Retry-After", time.Date(2000, 1, 1, 0, 0, 20, 0, time.UTC).Format(http.TimeFormat)), 4, "503",
			40 * time.Second},
		{"401", status(401), 1, "401 Unauthorized", time.Second},
		{"404", func(w http.ResponseWriter) {
			w.WriteHeader(404)
			fmt.Fprint(w, `{"error":{"code":"DeploymentNotFound"}}`)
		}, 1, "404 Not Found (DeploymentNotFound)", time.Second},
		{"redirect", status(307, "Location", "http://elsewhere.test/"), 1, "redirects are not followed", time.Second},
		{"hanging", func(http.ResponseWriter) { time.Sleep(time.Hour) }, 2, "no answer in time",
			2*time.Minute + time.Second},
		{"hanging inside the answer", func(w http.ResponseWriter) {
			fmt.Fprint(w, reply[:20])
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Hour)
		}, 2, "no answer in time", 2*time.Minute + time.Second},
		{"cut", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, reply)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 4, "the server closed it", 10 * time.Second},
		{"closed", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 4, "the server closed it",
			10 * time.Second},
		{"HTML", body("<!doctype html><p>" + secret), 1, "is the URL right?", time.Second},
		{"broken JSON", body(reply[:30]), 4, "not valid JSON", 10 * time.Second},
		{"other JSON", body(`["` + secret + `"]`), 1, "is the URL right?", time.Second},
		{"empty", body(""), 1, "is the URL right?", time.Second},
		{"huge", func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"choices":[{"message":{"content":"`)
			for range 100 {
				if _, err := io.WriteString(w, strings.Repeat(secret, 1000)); err != nil {
					return
				}
			}
		}, 1, "longer than 1048576 bytes", time.Second},
		{"long text", body(fmt.Sprintf(replyFmt, strings.Repeat("好", 20_001))), 1, "longer than 20000 characters",
			time.Second},
		{"no choices", body(`{"choices":[]}`), 4, "no choices", 10 * time.Second},
		{"no content", body(`{"choices":[{"message":{"content":null}}]}`), 4, "empty", 10 * time.Second},
		{"only reasoning", body(fmt.Sprintf(replyFmt, "<think>He drew")), 4, "empty", 10 * time.Second},
		{"no text", body(fmt.Sprintf(replyFmt, " \n.")), 4, "empty", 10 * time.Second},
		{"content of another kind", body(`{"choices":[{"message":{"content":7}}]}`), 1, "neither text", time.Second},
		{"reasoning up to the limit", body(`{"choices":[{"message":{"content":""},"finish_reason":"MAX_TOKENS"}]}`), 1,
			"before its text began", time.Second},
		{"broken off",
			body(`{"choices":[{"message":{"content":"Ana"},"finish_reason":"insufficient_system_resource"}]}`), 4,
			"broke off", 10 * time.Second},
		{"declined", body(`{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`), 1, "declined",
			time.Second},
		{"refused", body(`{"choices":[{"message":{"content":null,"refusal":"no"}}]}`), 1, "declined", time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				client := fake(t, func(attempt int, w http.ResponseWriter, _ *http.Request) {
					asked.Store(int32(attempt))
					c.fault(w)
				})
				chat, logged := newChat(t, ChatConfig{Client: client})
				start := time.Now()
				_, err := chat.Summarize(t.Context(), input)
				require.ErrorContains(t, err, c.text)
				require.EqualValues(t, c.attempts, asked.Load())
				require.LessOrEqual(t, time.Since(start), c.within)
				require.Contains(t, logged.String(), "summary endpoint failed")
				requireDiscreet(t, fmt.Sprintf("%+v", err), logged.String())
				time.Sleep(2 * time.Hour) // in the bubble's time: the handlers that hang end
			})
		})
	}
}
