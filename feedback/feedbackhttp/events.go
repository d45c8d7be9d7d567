package feedbackhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
	"lessonkit.example/internal/httpapi"
)

// keepAlive is how often a stream without events sends a comment, which keeps proxies from closing
// it, and checks that its reader is still signed in.
const keepAlive = 15 * time.Second

// lessonEvent and segmentEvent are the data of an event.
type lessonEvent struct {
	SessionID wire.ID        `json:"session_id"`
	Lesson    wire.LessonRow `json:"lesson"`
}

type segmentEvent struct {
	SessionID wire.ID           `json:"session_id"`
	LessonID  wire.ID           `json:"lesson_id"`
	Segment   wire.AudioSegment `json:"segment"`
}

func (s *server) registerEvents(api huma.API) {
	events := &huma.Schema{
		OneOf:       []*huma.Schema{schemaOf[lessonEvent](api), schemaOf[segmentEvent](api)},
		Description: "The data of each event.",
	}
	op := s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-sessions/{session_id}/events", OperationID: "follow-session",
		Metadata: endless,
		Tags:     []string{sessionsTag}, Summary: "Follow a session",
		Description: "Server-sent events: one named \"lesson\" or \"segment\" for each change of state from now on. " +
			"A client that reconnects with the last id as Last-Event-ID receives what it missed; it may receive " +
			"again what it has. The first id comes without an event, for connections that are lost early. " +
			"A teacher may have a few streams at once (429).",
		Errors: []int{http.StatusNotFound},
		Parameters: []*huma.Param{pathParam("session_id"), {
			Name: "Last-Event-ID", In: "header", Description: "The id of the last event that was received.",
			Schema: &huma.Schema{Type: "string"},
		}},
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream that lasts while the caller is signed in",
			Headers: map[string]*huma.Param{
				"X-Accel-Buffering": textHeader("no: proxies should not delay events."),
			},
			Content: map[string]*huma.MediaType{"text/event-stream": {Schema: events}},
		}},
	})
	httpapi.Stream(api, op, func(ctx huma.Context) (int, any, error) {
		leave, err := s.streams.enter(teacher(ctx.Context()))
		if err != nil {
			return 0, nil, err
		}
		defer leave()
		id, err := pathID(ctx, "session_id")
		if err != nil {
			return 0, nil, err
		}
		since := int64(-1)
		if last := ctx.Header("Last-Event-ID"); last != "" {
			if since, err = strconv.ParseInt(last, 10, 64); err != nil || since < 0 {
				return 0, nil, fieldProblem("header.Last-Event-ID", "must be the id of an event of this session")
			}
		}
		session, err := s.svc.Session(ctx.Context(), teacher(ctx.Context()), id)
		if err != nil {
			return 0, nil, problem("path", err)
		}
		if since < 0 {
			since = session.Revision // what changes before the first look at the store is not missed
		}
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetHeader("X-Accel-Buffering", "no") // nginx would delay events
		ctx.SetStatus(http.StatusOK)
		if ctx.Method() != http.MethodHead {
			s.follow(ctx, id, since)
		}
		return 0, nil, nil
	})
}

// follow writes events until the client goes away or signs out, or the database fails. Clients
// reconnect by themselves and are answered why they cannot.
func (s *server) follow(ctx huma.Context, id uuid.UUID, since int64) {
	w := ctx.BodyWriter().(http.ResponseWriter)
	flush := http.NewResponseController(w).Flush
	events := make(chan feedback.Event)
	follow, cancel := context.WithCancel(ctx.Context())
	defer cancel()
	go func() {
		defer close(events)
		for e, err := range s.svc.Events(follow, teacher(follow), id, since) {
			if err != nil {
				return
			}
			select {
			case events <- e:
			case <-follow.Done():
				return
			}
		}
	}()
	// The id lets a client continue that loses its connection before the first event.
	if _, err := fmt.Fprintf(w, "retry: 2000\nid: %d\n\n", since); err != nil {
		return
	}
	if err := flush(); errors.Is(err, http.ErrNotSupported) {
		httpapi.Cut(fmt.Errorf("events: the ResponseWriter of a middleware has neither Flush nor Unwrap: %w", err))
	} else if err != nil {
		return
	}
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-s.stopping:
			return // the client reconnects, to another server or to the restarted one
		case e, ok := <-events:
			if !ok || s.signedOut(ctx) {
				return
			}
			err = writeEvent(w, e)
		case <-tick.C:
			if s.signedOut(ctx) {
				return
			}
			_, err = io.WriteString(w, ": still here\n\n")
		}
		if err != nil || flush() != nil {
			return
		}
	}
}

// signedOut reports whether the teacher of the request is no longer signed in.
func (s *server) signedOut(ctx huma.Context) bool {
	id, err := s.authenticate(ctx.Context(), httpapi.Header(ctx))
	if err != nil {
		return !isTemporary(err)
	}
	return id != teacher(ctx.Context())
}

func writeEvent(w io.Writer, e feedback.Event) error {
	var name string
	var data any
	if l := e.Lesson; l != nil {
		name = "lesson"
		data = lessonEvent{SessionID: wire.ID{UUID: l.SessionID}, Lesson: wire.LessonRowOf(*l)}
	} else {
		name = "segment"
		data = segmentEvent{
			SessionID: wire.ID{UUID: e.Segment.SessionID}, LessonID: wire.ID{UUID: e.Segment.LessonID},
			Segment: wire.SegmentOf(*e.Segment),
		}
	}
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.Revision, name, body)
	return err
}
