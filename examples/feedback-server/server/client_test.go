package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
)

// clientCall calls a method of the client with every field that the service knows. answer has the
// type of what the method returns.
type clientCall struct {
	call   func(ctx context.Context, c feedbackclient.Client) error
	answer any
}

// forPages are the operations of a page, whose session is a cookie.
var forPages = map[string]bool{"start-device": true, "device-login": true}

func returning[T any](method func(c feedbackclient.Client, ctx context.Context) (T, error)) clientCall {
	return clientCall{func(ctx context.Context, c feedbackclient.Client) error {
		_, err := method(c, ctx)
		return err
	}, *new(T)}
}

// of is a call about the resource with an identifier, which returns a T.
func of[T any](method func(c feedbackclient.Client, ctx context.Context, id string) (T, error)) clientCall {
	return with(method, "id")
}

// with is a call with an input, which returns a T.
func with[In, T any](method func(c feedbackclient.Client, ctx context.Context, in In) (T, error), in In) clientCall {
	return returning(func(c feedbackclient.Client, ctx context.Context) (T, error) { return method(c, ctx, in) })
}

// ending is a call about the resource with an identifier, which returns nothing.
func ending(method func(c feedbackclient.Client, ctx context.Context, id string) error) clientCall {
	return clientCall{call: func(ctx context.Context, c feedbackclient.Client) error { return method(c, ctx, "id") }}
}

func listing[In, T any](
	method func(c feedbackclient.Client, ctx context.Context, in In) iter.Seq2[T, error], in In,
) clientCall {
	return clientCall{func(ctx context.Context, c feedbackclient.Client) (last error) {
		for _, err := range method(c, ctx, in) {
			last = err
		}
		return last
	}, page[T]{}}
}

// closing closes what a call returns.
func closing(body io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	return body.Close()
}

type client = feedbackclient.Client

var clientCalls = map[string]clientCall{
	"health":     returning(client.Health),
	"ready":      {call: func(ctx context.Context, c client) error { return c.Ready(ctx) }},
	"login":      of(client.Login),
	"me":         returning(client.Me),
	"erase-me":   {call: func(ctx context.Context, c client) error { return c.EraseMe(ctx) }},
	"logout-all": {call: func(ctx context.Context, c client) error { return c.LogoutAll(ctx) }},
	"logout":     {call: func(ctx context.Context, c client) error { return c.Logout(ctx) }},

	"find-device":    of(client.Device),
	"confirm-device": ending(client.ConfirmDevice),
	"end-session":    ending(client.EndSession),
	"list-sessions": {func(ctx context.Context, c client) error {
		_, err := c.Sessions(ctx)
		return err
	}, page[feedbackclient.ListedSession]{}},

	"list-profiles": listing(client.Profiles,
		feedbackclient.ProfileFilter{Query: "q", Grade: "g", Subject: "s"}),
	"create-profile":        with(client.CreateProfile, profileInput),
	"get-profile":           of(client.Profile),
	"delete-profile":        ending(client.DeleteProfile),
	"get-profile-defaults":  returning(client.Defaults),
	"save-profile-defaults": with(client.SaveDefaults, feedbackclient.Defaults{}),
	"replace-profile": returning(func(c client, ctx context.Context) (feedbackclient.Profile, error) {
		return c.ReplaceProfile(ctx, "id", profileInput)
	}),
	"get-words": {call: func(ctx context.Context, c client) error {
		_, err := c.Words(ctx)
		return err
	}},
	"save-words": {call: func(ctx context.Context, c client) error {
		_, err := c.SaveWords(ctx, []string{"Siobhan"})
		return err
	}},

	"open-session": with(client.OpenSessionWith,
		feedbackclient.SessionInput{ProfileID: "id", FeedbackDate: "d"}),
	"get-active-session": of(client.ActiveSession),
	"get-session":        of(client.Session),
	"save-session": returning(func(c client, ctx context.Context) (feedbackclient.Session, error) {
		edit := feedbackclient.SessionEdit{FeedbackText: &text, FeedbackDate: &text, IfMatch: `"1"`}
		return c.SaveSession(ctx, "id", edit)
	}),
	"get-session-message": {call: func(ctx context.Context, c client) error {
		_, err := c.SessionMessage(ctx, "id")
		return err
	}},
	"get-record-message": {call: func(ctx context.Context, c client) error {
		_, err := c.RecordMessage(ctx, "id")
		return err
	}},
	"generate-feedback": returning(func(c client, ctx context.Context) (feedbackclient.Generated, error) {
		return c.Generate(ctx, "id", []string{"id"})
	}),
	"follow-session": returning(func(c client, ctx context.Context) (feedbackclient.Event, error) {
		for range c.Follow(ctx, "id", "17") {
			break // not a stream of events
		}
		return feedbackclient.Event{}, nil
	}),
	"start-lesson":        of(client.StartLesson),
	"finish-lesson":       of(client.FinishLesson),
	"mark-lesson-applied": of(client.MarkApplied),

	"list-segments": listing(client.Segments, "id"),
	"upload-segment": returning(func(c client, ctx context.Context) (feedbackclient.Segment, error) {
		return c.UploadRecording(ctx, "id", feedbackclient.Recording{
			Audio: io.MultiReader(strings.NewReader("audio")), Sequence: new(int), Duration: time.Second,
			SampleRate: 16000, Channels: 1,
		})
	}),
	"get-segment": of(client.Segment),
	"save-segment-text": returning(func(c client, ctx context.Context) (feedbackclient.Segment, error) {
		return c.EditSegment(ctx, "id", feedbackclient.SegmentEdit{Text: &text, IfMatch: `"1"`})
	}),
	"retry-segment": returning(func(c client, ctx context.Context) (feedbackclient.Segment, error) {
		return c.RetrySegment(ctx, "id", "en")
	}),
	"retry-lesson": returning(func(c client, ctx context.Context) (feedbackclient.Lesson, error) {
		return c.RetryLesson(ctx, "id", "en")
	}),
	"get-segment-audio": {call: func(ctx context.Context, c client) error {
		return closing(c.Audio(ctx, "id"))
	}},

	"list-records": listing(client.FindRecords, feedbackclient.RecordFilter{ProfileID: "id", Query: "q",
		From: "d", To: "d", AcademicYear: 2026, Term: "t"}),
	"get-record": of(client.Record),
	"save-record": returning(func(c client, ctx context.Context) (feedbackclient.Record, error) {
		return c.EditRecord(ctx, "id", feedbackclient.RecordEdit{Date: "d", Content: "c", IfMatch: `"1"`})
	}),
	"report": returning(func(c client, ctx context.Context) (feedbackclient.Report, error) {
		return c.Report(ctx, "id", feedbackclient.ReportRange{From: "d", To: "d", AcademicYear: 2026, Term: "t"})
	}),
	"get-record-text": {call: func(ctx context.Context, c client) error {
		return closing(c.RecordText(ctx, "id", "md"))
	}},
	"create-record": with(client.CreateRecord, feedbackclient.RecordInput{SessionID: "id", IdempotencyKey: "k"}),
	"delete-record": ending(client.DeleteRecord),
	"export":        {call: func(ctx context.Context, c client) error { return closing(c.Export(ctx)) }},
}

type page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"`
}

var (
	text, year   = "x", 2026
	profileInput = feedbackclient.ProfileInput{
		Name: text, Grade: &text, Subject: &text, AcademicYear: &year, Term: text, GuardianTitle: text,
		StartTime: text, EndTime: &text,
	}
)

// openAPI is what the test needs of an OpenAPI document.
type openAPI struct {
	Paths      map[string]map[string]openAPIOperation
	Components struct{ Schemas map[string]openAPISchema }
}

type openAPIOperation struct {
	OperationID string
	Parameters  []struct{ Name, In string }
	RequestBody struct{ Content map[string]openAPIContent }
	Responses   map[string]struct{ Content map[string]openAPIContent }
}

type openAPIContent struct{ Schema openAPISchema }

type openAPISchema struct {
	Ref        string `json:"$ref"`
	ReadOnly   bool
	Properties map[string]openAPISchema
	Items      *openAPISchema
	OneOf      []openAPISchema
}

func TestClientHasEveryOperationAndField(t *testing.T) {
	t.Parallel()
	var doc openAPI
	require.NoError(t, json.Unmarshal(get(onSQLite(t, server.RoleAll).Handler(), "/openapi.json").Body.Bytes(), &doc))
	seen := map[string]bool{}
	for template, methods := range doc.Paths {
		for method, op := range methods {
			seen[op.OperationID] = true
			if forPages[op.OperationID] {
				continue
			}
			t.Run(op.OperationID, func(t *testing.T) {
				c, ok := clientCalls[op.OperationID]
				require.True(t, ok, "the client has no method for %s %s", method, template)
				sent := doc.record(t, strings.ToUpper(method)+" "+template, c.call)
				for _, p := range op.Parameters {
					if p.In == "path" || p.In == "query" && op.OperationID == "upload-segment" { // sent in the form
						continue
					}
					if op.OperationID == "get-active-session" && p.Name == "optional" {
						continue // for browsers; the client returns an error
					}
					if op.OperationID == "get-segment-audio" && p.Name == "Range" {
						continue // for players; the client downloads the whole
					}
					require.Contains(t, sent, p.In+" "+strings.ToLower(p.Name))
				}
				for _, content := range op.RequestBody.Content {
					for name, property := range doc.resolve(content.Schema).Properties {
						require.True(t, property.ReadOnly || sent["body "+name], "the client cannot send %s", name)
					}
				}
				for status, response := range op.Responses {
					for _, content := range response.Content {
						if status < "300" && c.answer != nil {
							doc.requireFields(t, op.OperationID, content.Schema, reflect.TypeOf(c.answer))
						}
					}
				}
			})
		}
	}
	for id := range clientCalls {
		require.True(t, seen[id], "the document has no operation %s", id)
	}
	doc.requireFields(t, "problem", doc.Components.Schemas["Problem"], reflect.TypeFor[feedbackclient.Problem]())
}

// record returns the names of the parameters and fields that a call sends to the pattern.
func (doc openAPI) record(
	t *testing.T, pattern string, call func(context.Context, feedbackclient.Client) error,
) map[string]bool {
	sent := map[string]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		for name := range r.URL.Query() {
			sent["query "+name] = true
		}
		for name := range r.Header {
			sent["header "+strings.ToLower(name)] = true
		}
		kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		switch kind {
		case "multipart/form-data":
			for form := multipart.NewReader(r.Body, params["boundary"]); ; {
				part, err := form.NextPart()
				if err != nil {
					break
				}
				sent["body "+part.FormName()] = true
			}
		case "application/json":
			var body map[string]any
			if json.NewDecoder(r.Body).Decode(&body) == nil {
				for name := range maps.Keys(body) {
					sent["body "+name] = true
				}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("limit") && !r.URL.Query().Has("cursor") {
			fmt.Fprint(w, `{"items":[],"next_cursor":"next"}`)
			return
		}
		fmt.Fprint(w, `{}`)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	err := call(t.Context(), feedbackclient.Client{Base: s.URL})
	require.NoError(t, err, "the client sends something else than %s", pattern)
	require.NotEmpty(t, sent)
	return sent
}

func (doc openAPI) resolve(s openAPISchema) openAPISchema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return doc.Components.Schemas[name]
	}
	return s
}

// requireFields requires that a type has a field for each property of a schema.
func (doc openAPI) requireFields(t *testing.T, where string, s openAPISchema, in reflect.Type) {
	t.Helper()
	s = doc.resolve(s)
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
		in = in.Elem()
	}
	if s.Items != nil {
		doc.requireFields(t, where, *s.Items, in)
	}
	for _, one := range s.OneOf {
		doc.requireFields(t, where, one, in)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := where + "." + name
		require.Equal(t, reflect.Struct, in.Kind(), field)
		i := slices.IndexFunc(reflect.VisibleFields(in), func(f reflect.StructField) bool {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return tag == name
		})
		require.GreaterOrEqual(t, i, 0, "%s has no field for %s", in, field)
		doc.requireFields(t, field, s.Properties[name], reflect.VisibleFields(in)[i].Type)
	}
}
