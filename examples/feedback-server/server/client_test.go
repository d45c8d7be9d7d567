package server_test

import (
	"encoding/json"
	"fmt"
	"io"
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

// clientCalls call every method of the client with every field that the service knows, and name the
// types of the answers.
var clientCalls = map[string]struct {
	call   func(t *testing.T, c feedbackclient.Client) error
	answer any
}{
	"health": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Health(t.Context())
		return err
	}, feedbackclient.Health{}},
	"ready": {func(t *testing.T, c feedbackclient.Client) error { return c.Ready(t.Context()) }, nil},
	"login": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Login(t.Context(), "code")
		return err
	}, feedbackclient.Login{}},
	"me": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Me(t.Context())
		return err
	}, feedbackclient.Teacher{}},
	"erase-me":   {func(t *testing.T, c feedbackclient.Client) error { return c.EraseMe(t.Context()) }, nil},
	"logout-all": {func(t *testing.T, c feedbackclient.Client) error { return c.LogoutAll(t.Context()) }, nil},
	"logout":     {func(t *testing.T, c feedbackclient.Client) error { return c.Logout(t.Context()) }, nil},
	"list-profiles": {func(t *testing.T, c feedbackclient.Client) (last error) {
		filter := feedbackclient.ProfileFilter{Query: "q", Grade: "g", Subject: "s"}
		for _, err := range c.Profiles(t.Context(), filter) {
			last = err
		}
		return last
	}, page[feedbackclient.Profile]{}},
	"create-profile": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.CreateProfile(t.Context(), profileInput)
		return err
	}, feedbackclient.Profile{}},
	"get-profile": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Profile(t.Context(), "id")
		return err
	}, feedbackclient.Profile{}},
	"replace-profile": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.ReplaceProfile(t.Context(), "id", profileInput)
		return err
	}, feedbackclient.Profile{}},
	"delete-profile": {func(t *testing.T, c feedbackclient.Client) error {
		return c.DeleteProfile(t.Context(), "id")
	}, nil},
	"get-profile-defaults": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Defaults(t.Context())
		return err
	}, feedbackclient.Defaults{}},
	"save-profile-defaults": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.SaveDefaults(t.Context(), feedbackclient.Defaults{})
		return err
	}, feedbackclient.Defaults{}},
	"get-words": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Words(t.Context())
		return err
	}, nil},
	"save-words": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.SaveWords(t.Context(), []string{"Siobhan"})
		return err
	}, nil},
	"list-segments": {func(t *testing.T, c feedbackclient.Client) (last error) {
		for _, err := range c.Segments(t.Context(), "id") {
			last = err
		}
		return last
	}, page[feedbackclient.Segment]{}},
	"open-session": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.OpenSessionWith(t.Context(), feedbackclient.SessionInput{ProfileID: "id", FeedbackDate: "d"})
		return err
	}, feedbackclient.Session{}},
	"get-active-session": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.ActiveSession(t.Context(), "id")
		return err
	}, feedbackclient.Session{}},
	"get-session": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Session(t.Context(), "id")
		return err
	}, feedbackclient.Session{}},
	"save-session": {func(t *testing.T, c feedbackclient.Client) error {
		edit := feedbackclient.SessionEdit{FeedbackText: &text, FeedbackDate: &text, IfMatch: `"1"`}
		_, err := c.SaveSession(t.Context(), "id", edit)
		return err
	}, feedbackclient.Session{}},
	"generate-feedback": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Generate(t.Context(), "id", []string{"id"})
		return err
	}, feedbackclient.Generated{}},
	"follow-session": {func(t *testing.T, c feedbackclient.Client) error {
		for range c.Events(t.Context(), "id", "17") {
			break // the end of the stream
		}
		return nil
	}, feedbackclient.Event{}},
	"start-lesson": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.StartLesson(t.Context(), "id")
		return err
	}, feedbackclient.Lesson{}},
	"finish-lesson": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.FinishLesson(t.Context(), "id")
		return err
	}, feedbackclient.Lesson{}},
	"mark-lesson-applied": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.MarkApplied(t.Context(), "id")
		return err
	}, feedbackclient.Lesson{}},
	"upload-segment": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.UploadRecording(t.Context(), "id", feedbackclient.Recording{
			Audio: io.MultiReader(strings.NewReader("audio")), Sequence: new(int), Duration: time.Second,
			SampleRate: 16000, Channels: 1,
		})
		return err
	}, feedbackclient.Segment{}},
	"get-segment": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.Segment(t.Context(), "id")
		return err
	}, feedbackclient.Segment{}},
	"retry-segment": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.RetrySegment(t.Context(), "id")
		return err
	}, feedbackclient.Segment{}},
	"get-segment-audio": {func(t *testing.T, c feedbackclient.Client) error {
		audio, err := c.Audio(t.Context(), "id", 1)
		require.NoError(t, err)
		return audio.Close()
	}, nil},
	"list-records": {func(t *testing.T, c feedbackclient.Client) (last error) {
		for _, err := range c.Records(t.Context(), "id") {
			last = err
		}
		return last
	}, page[feedbackclient.Record]{}},
	"create-record": {func(t *testing.T, c feedbackclient.Client) error {
		_, err := c.CreateRecord(t.Context(), feedbackclient.RecordInput{SessionID: "id", IdempotencyKey: "k"})
		return err
	}, feedbackclient.Record{}},
	"delete-record": {func(t *testing.T, c feedbackclient.Client) error {
		return c.DeleteRecord(t.Context(), "id")
	}, nil},
	"export": {func(t *testing.T, c feedbackclient.Client) error {
		zip, err := c.Export(t.Context())
		if err == nil {
			err = zip.Close()
		}
		return err
	}, nil},
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

// TestClientHasEveryOperationAndField walks the OpenAPI document.
func TestClientHasEveryOperationAndField(t *testing.T) {
	t.Parallel()
	var doc openAPI
	require.NoError(t, json.Unmarshal(get(onSQLite(t, server.RoleAll).Handler(), "/openapi.json").Body.Bytes(), &doc))
	seen := map[string]bool{}
	for template, methods := range doc.Paths {
		for method, op := range methods {
			seen[op.OperationID] = true
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
	doc.requireFields(t, "problem", doc.Components.Schemas["LessonProblem"], reflect.TypeFor[feedbackclient.Problem]())
}

// record returns the names of the parameters and fields that a call sends to the pattern.
func (doc openAPI) record(
	t *testing.T, pattern string, call func(*testing.T, feedbackclient.Client) error,
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
		if sent["header range"] {
			w.Header().Set("Content-Range", strings.Replace(r.Header.Get("Range"), "=", " ", 1)+"9/10")
			w.WriteHeader(http.StatusPartialContent)
		}
		if r.URL.Query().Has("limit") && !r.URL.Query().Has("cursor") {
			fmt.Fprint(w, `{"items":[],"next_cursor":"next"}`)
			return
		}
		fmt.Fprint(w, `{}`)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	require.NoError(t, call(t, feedbackclient.Client{Base: s.URL}), "the client sends something else than %s", pattern)
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
