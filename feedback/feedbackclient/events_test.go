package feedbackclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// TestFollowConnectsAgain: it continues after the last whole event, until the server refuses.
func TestFollowConnectsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var sent []string
		stream := http.Header{"Content-Type": {"text/event-stream"}}
		client := feedbackclient.Client{Base: "http://test", HTTP: &http.Client{Transport: transport(
			func(r *http.Request) (int, http.Header, string) {
				sent = append(sent, fmt.Sprintf("%s after %s", r.Header.Get("Last-Event-ID"), time.Since(began)))
				switch len(sent) {
				case 1: // closed before an event
					return 200, stream, "retry: 3000\nid: 4\n\nevent: news\ndata: 5\n\n"
				case 2: // cut off in the middle of an event
					return 200, stream, "id: 5\nevent: lesson\ndata: {\"lesson\":{\"lesson_id\":\"a\"}}\n\n" +
						"id: 6\nevent: lesson\ndata: {}\nretry: 2" // of 2000
				case 3:
					return 503, nil, busy
				case 4:
					return 200, stream, ": still here\r\n\r\nid: 6\r\nevent: segment\r\n" +
						"data: {\"segment\":\r\ndata: {\"segment_id\":\"b\"}}\r\n\r\n"
				}
				return 404, nil, `{"code":"not_found"}`
			})}}
		var events []string
		var last error
		for e, err := range client.Follow(t.Context(), "s", "") {
			if last = err; err != nil {
				continue
			}
			id := ""
			if e.Lesson != nil {
				id = e.Lesson.ID
			} else {
				id = e.Segment.ID
			}
			events = append(events, e.ID+" "+e.Name+" "+id)
		}
		require.Equal(t, []string{"5 lesson a", "6 segment b"}, events)
		require.Equal(t, []string{" after 0s", "4 after 3s", "5 after 6s", "5 after 13s", "6 after 16s"}, sent)
		var p *feedbackclient.Problem
		require.ErrorAs(t, last, &p)
		require.Equal(t, "not_found", p.Code)
	})
}

// TestFollowEndsWithWhatNoConnectionResolves: after other answers it connects again.
func TestFollowEndsWithWhatNoConnectionResolves(t *testing.T) {
	t.Parallel()
	stream := http.Header{"Content-Type": {"text/event-stream"}}
	answer := func(status int, header http.Header, body string) transport {
		return func(*http.Request) (int, http.Header, string) { return status, header, body }
	}
	fails := func(err error) lossy { return lossy{empty, func(*http.Request) error { return err }} }
	for name, test := range map[string]struct {
		answer http.RoundTripper
		want   string // "" means that it connects again
	}{
		"malformed":                {answer(400, nil, `{"code":"x"}`), "400 x"},
		"not signed in":            {answer(401, nil, `{"code":"unauthorized"}`), "401 unauthorized"},
		"forbidden by a proxy":     {answer(403, nil, `<html>`), "403"},
		"deleted":                  {answer(404, nil, `{"code":"not_found"}`), "404 not_found"},
		"a status in the body":     {answer(404, nil, `{"status":500}`), "404"},
		"not modified":             {answer(304, stream, ``), "not a stream of events: status 304"},
		"no content":               {answer(204, stream, ``), "not a stream of events: status 204"},
		"a page of a proxy":        {answer(200, http.Header{"Content-Type": {"text/html"}}, `<html>`), `"text/html"`},
		"no content type":          {answer(200, nil, ``), "not a stream of events"},
		"an event that is no JSON": {answer(200, stream, "id: 3\nevent: segment\ndata: x\n\n"), "event 3"},
		"a line that is too long":  {answer(200, stream, strings.Repeat("x", 17<<20)), "longer than"},
		"a redirect to itself":     {answer(302, http.Header{"Location": {"/"}}, ``), "10 redirects"},
		"a certificate":            {fails(&tls.CertificateVerificationError{Err: errors.New("expired")}), "expired"},
		"a token with a line end":  {http.DefaultTransport, "invalid header field"},
		"a request that took long": {answer(408, nil, ``), ""},
		"too many requests":        {answer(429, nil, `<html>`), ""},
		"a fault":                  {answer(500, nil, `{"status":404}`), ""},
		"a proxy without a server": {answer(502, nil, `<html>`), ""},
		"not available":            {answer(503, nil, `{"code":"x"}`), ""},
		"a lost connection":        {fails(io.ErrUnexpectedEOF), ""},
		"a name that is not found": {fails(&net.OpError{Op: "dial", Err: &net.DNSError{}}), ""},
		"an end before an event":   {answer(200, stream, ``), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				client := feedbackclient.New("http://test", "token\n")
				client.HTTP = &http.Client{Transport: test.answer}
				var errs []error
				for _, err := range client.Follow(ctx, "id", "") {
					errs = append(errs, err)
				}
				if test.want == "" {
					require.Empty(t, errs)
					require.Error(t, ctx.Err())
					return
				}
				require.Len(t, errs, 1)
				require.ErrorContains(t, errs[0], test.want)
				require.NoError(t, ctx.Err(), "it did not connect again")
			})
		})
	}
}
