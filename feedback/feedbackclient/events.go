package feedbackclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
)

// Event is a change of a lesson or a segment. Exactly one of Lesson and Segment is set.
type Event struct {
	ID       string   `json:"-"` // Events called with it continues after this event
	Name     string   `json:"-"` // "lesson" or "segment"
	Lesson   *Lesson  `json:"lesson"`
	LessonID string   `json:"lesson_id"` // of the segment
	Segment  *Segment `json:"segment"`
}

// Events follows a session until ctx ends. It yields the changes after the event lastEventID, or
// from now on if that is "". The sequence ends with an error when the connection does; io.EOF if
// the server has closed it.
func (c Client) Events(ctx context.Context, sessionID, lastEventID string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		header := http.Header{"Accept": {"text/event-stream"}}
		if lastEventID != "" {
			header.Set("Last-Event-ID", lastEventID)
		}
		path := "/api/v1/feedback-sessions/" + sessionID + "/events"
		resp, err := c.do(ctx, http.MethodGet, path, header, http.NoBody)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer resp.Body.Close()
		for r := bufio.NewReader(resp.Body); ; {
			e, err := readEvent(r)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// readEvent reads the next event of a stream of server-sent events.
func readEvent(r *bufio.Reader) (Event, error) {
	var e Event
	var data strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return Event{}, err
		}
		field, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "id":
			e.ID = value
		case field == "event":
			e.Name = value
		case field == "data":
			data.WriteString(value + "\n")
		case field == "" && value == "" && data.Len() > 0: // an empty line ends the event
			if err := json.Unmarshal([]byte(data.String()), &e); err != nil {
				return Event{}, fmt.Errorf("event %s: %w", e.ID, err)
			}
			return e, nil
		}
	}
}
