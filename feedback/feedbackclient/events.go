package feedbackclient

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Event is a change of a lesson or a segment. Exactly one of Lesson and Segment is set.
type Event struct {
	ID        string   `json:"-"` // Follow called with it continues after this event
	Name      string   `json:"-"` // "lesson" or "segment"
	SessionID string   `json:"session_id"`
	Lesson    *Lesson  `json:"lesson"`    // without its segments
	LessonID  string   `json:"lesson_id"` // of the segment
	Segment   *Segment `json:"segment"`
}

// Follow follows a session until ctx ends, over as many connections as it takes: after a failed or
// lost connection, or an answer with status 429, 408 or 5xx, it continues after the last event. It
// yields the changes after the event lastEventID: all of the session if that is "0", those from now
// on if it is "".
//
// The sequence ends without an error when ctx ends, and with one that connecting again would not
// resolve: another refusal, as when the session is deleted (404) or the teacher is no longer signed
// in (401), an answer that is not a stream of events, an event that cannot be decoded, a request
// that cannot be sent, or a certificate of the server that is not valid.
//
// To show a session without a gap, follow it from "0": its events are its lessons and segments, and
// the last one of each is its present state. [Client.Session] does not tell its position among the
// events, so that a change between it and a Follow from "" would be missed.
func (c Client) Follow(ctx context.Context, sessionID, lastEventID string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := stream{lastID: lastEventID, retry: 2 * time.Second}
		for {
			wait := s.retry
			for e, err := range s.events(ctx, c, sessionID) {
				if err == nil {
					if !yield(e, nil) {
						return
					}
					continue
				}
				if isPermanent(err) {
					yield(Event{}, err)
					return
				}
				if p, ok := errors.AsType[*Problem](err); ok {
					wait = max(wait, p.RetryAfter())
				}
			}
			if !sleep(ctx, max(wait, s.retry)) {
				return
			}
		}
	}
}

// permanent is an error in what the server sent.
type permanent struct{ error }

func (permanent) Permanent() bool { return true }
func (p permanent) Unwrap() error { return p.error }

// isPermanent reports whether connecting again would not resolve err.
func isPermanent(err error) bool {
	var known interface{ Permanent() bool }
	if errors.As(err, &known) {
		return known.Permanent()
	}
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate) || errors.Is(err, http.ErrSchemeMismatch) ||
		// net/http has no error values for these.
		strings.Contains(err.Error(), "net/http: invalid header field") ||
		strings.Contains(err.Error(), "stopped after 10 redirects")
}

// stream is a stream of server-sent events, over any number of connections.
type stream struct {
	lastID string
	retry  time.Duration // before connecting again; the server can change it
}

// events yields the events of one connection, and then the error that it ended with.
func (s *stream) events(ctx context.Context, c Client, sessionID string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		header := http.Header{"Accept": {"text/event-stream"}}
		if s.lastID != "" {
			header.Set("Last-Event-ID", s.lastID)
		}
		c.MaxRetries = 0
		r := request{method: http.MethodGet, path: path("/feedback-sessions/%s/events", sessionID), header: header}
		resp, err := c.do(ctx, r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer resp.Body.Close()
		contentType := resp.Header.Get("Content-Type")
		if t, _, _ := mime.ParseMediaType(contentType); resp.StatusCode != http.StatusOK || t != "text/event-stream" {
			err := fmt.Errorf("%s: the answer is not a stream of events: status %d, Content-Type %q",
				r, resp.StatusCode, contentType)
			yield(Event{}, permanent{err})
			return
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, maxLine)
		for {
			e, err := s.read(lines)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// read reads the next event, by the HTML standard's section on server-sent events.
func (s *stream) read(lines *bufio.Scanner) (Event, error) {
	name, id, retry := "", s.lastID, s.retry
	var data strings.Builder
	for lines.Scan() {
		line := lines.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data.WriteString(value + "\n")
		case "retry":
			if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
				retry = time.Duration(ms) * time.Millisecond
			}
		}
		if line != "" {
			continue
		}
		// An empty line ends an event, of which the first has no data. Without it, the connection
		// may have cut off the last line.
		s.lastID, s.retry = id, retry
		e := Event{ID: id, Name: name}
		body := data.String()
		name = ""
		data.Reset()
		if body == "" || e.Name != "lesson" && e.Name != "segment" { // others are of a newer server
			continue
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			return Event{}, permanent{fmt.Errorf("event %s: %w", e.ID, err)}
		}
		return e, nil
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return Event{}, permanent{fmt.Errorf("a line of the stream is longer than %d bytes", maxLine)}
	}
	return Event{}, cmp.Or(lines.Err(), io.EOF)
}

// maxLine is the longest line of a stream: an event with the text of a segment is one line.
const maxLine = 16 << 20
