package feedbackhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/internal/httpapi"
)

var (
	requests = flag.Int("requests", 600, "how many generated requests to send to each engine")
	seed     = flag.Uint64("seed", 0, "seed of the generated requests; 0 draws one")
)

// TestGeneratedRequests sends requests made from the OpenAPI document, valid,
// at the bounds and broken, and holds every answer against the document: no
// 500, no status, type or body that is not documented.
func TestGeneratedRequests(t *testing.T) {
	engines(t, func(t *testing.T, e *env) {
		s := *seed
		if s == 0 {
			s = rand.Uint64()
		}
		t.Logf("run again with -seed=%d", s)
		mux := http.NewServeMux()
		api := httpapi.New(mux, httpapi.Options{Title: "t", Version: "1"})
		feedbackhttp.Register(huma.NewGroup(api, "/api/v1"),
			feedbackhttp.Config{Service: e.svc, Authenticate: teacherOf})
		e.handler = httpapi.Wrap(mux, httpapi.WrapOptions{
			Logger: slog.New(slog.NewTextHandler(t.Output(),
				&slog.HandlerOptions{Level: slog.LevelError})), // the cause of a 500
		})
		g := &generator{Rand: rand.New(rand.NewPCG(s, 0)), env: e, api: api.OpenAPI(), ids: map[string][]string{}}
		for path, item := range api.OpenAPI().Paths {
			for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put,
				"DELETE": item.Delete} {
				if op != nil && op.OperationID != "upload-segment" { // see TestUploads
					g.operations = append(g.operations, operation{method, path, op})
				}
			}
		}
		slices.SortFunc(g.operations,
			func(a, b operation) int { return strings.Compare(a.method+a.path, b.method+b.path) })
		for range *requests {
			g.one(t)
		}
		t.Logf("answers: %v", g.seen)
		require.Greater(t, len(g.seen), 6, "the requests are too much alike")
		for _, status := range []int{200, 201, 204, 404, 422} {
			require.Positive(t, g.seen[status], "no request came to %d", status)
		}
	})
}

type operation struct {
	method, path string
	*huma.Operation
}

type generator struct {
	*rand.Rand
	env        *env
	api        *huma.OpenAPI
	operations []operation
	ids        map[string][]string // by the name of a field or parameter, from answers
	seen       map[int]int
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, items ...T) T { return items[g.IntN(len(items))] }

func (g *generator) one(t *testing.T) {
	op := g.operations[g.IntN(len(g.operations))]
	if op.OperationID == "delete-profile" && g.chance(80) {
		op = g.operations[g.IntN(len(g.operations))] // it ends too many stories
	}
	if g.chance(5) {
		g.env.speech.fail(pick[error](g, nil, nil, fault{permanent: true, public: "no"}, fault{after: time.Second},
			errOrdinary))
		g.env.work()
	}
	if g.chance(5) {
		g.remember("", g.env.upload(g.id("lesson_id"), recording(g.plain(3))).json)
	}
	if g.chance(10) {
		g.env.now.Add(time.Duration(g.Int64N(int64(48 * time.Hour))))
	}
	broken := g.chance(30)
	path, query, header := op.path, url.Values{}, http.Header{}
	for _, p := range op.Parameters {
		value := g.parameter(p, broken)
		switch {
		case p.In == "path":
			if value == "" {
				value = "x" // nothing between two slashes is another path, which the mux redirects
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(value))
		case p.In == "header" && g.chance(30):
			header.Set(p.Name, value)
		case p.In == "query" && (p.Required && !broken || g.chance(40)):
			query.Add(p.Name, value)
		}
	}
	if broken && g.chance(10) {
		query.Add(pick(g, "x", "limit", "\x00", "profile_id[]"), g.text(20))
	}
	var body []byte
	if op.RequestBody != nil && !(broken && g.chance(10)) {
		body = g.body(op, header, broken)
	}
	if g.chance(5) {
		header.Set("Accept", pick(g, "text/html", "application/xml;q=0.1", "*/*", "x", "application/json", "\x01"))
	}
	ctx := t.Context()
	if op.OperationID == "follow-session" {
		short, cancel := context.WithTimeout(ctx, 3*time.Millisecond)
		defer cancel()
		ctx = short
	}
	r := httptest.NewRequestWithContext(ctx, op.method, "http://x/", bytes.NewReader(body))
	r.URL.RawQuery = query.Encode()
	r.URL.Path, _ = url.PathUnescape(path)
	r.URL.RawPath = path
	r.Header = header
	r.Header.Set("X-Teacher", g.env.teacher.String())
	if broken && g.chance(3) {
		r.Header.Set("X-Teacher", "nobody")
	}
	w := httptest.NewRecorder()
	g.env.handler.ServeHTTP(w, r)
	what := fmt.Sprintf("%s %.300s?%.300s %.300s %.300q", op.method, path, r.URL.RawQuery, fmt.Sprint(header), body)
	// A connection may fail at the deadline before the context has ended.
	if end, ok := ctx.Deadline(); ok && time.Now().After(end) && w.Code == 503 {
		return // the short life of an event stream
	}
	g.check(t, op, w, what)
}

// check holds an answer against the document.
func (g *generator) check(t *testing.T, op operation, w *httptest.ResponseRecorder, what string) {
	t.Helper()
	if g.seen == nil {
		g.seen = map[int]int{}
	}
	g.seen[w.Code]++
	require.Less(t, w.Code, 500, "%s: %s", what, w.Body)
	documented := op.Responses[strconv.Itoa(w.Code)]
	require.NotNil(t, documented, "%s: undocumented status %d: %s", what, w.Code, w.Body)
	if name, ok := strings.CutPrefix(documented.Ref, "#/components/responses/"); ok {
		documented = g.api.Components.Responses[name]
	}
	if w.Body.Len() == 0 {
		require.Empty(t, documented.Content, what)
		return
	}
	kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	require.NoError(t, err, what)
	content := documented.Content[kind]
	if content == nil && strings.HasPrefix(kind, "audio/") {
		content = documented.Content["audio/*"]
	}
	require.NotNil(t, content, "%s: undocumented type %s with %d", what, kind, w.Code)
	if !strings.HasSuffix(kind, "json") {
		return
	}
	var value any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &value), "%s: %s", what, w.Body)
	result := &huma.ValidateResult{}
	huma.Validate(g.api.Components.Schemas, content.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, value,
		result)
	require.Empty(t, result.Errors, "%s: %s", what, w.Body)
	g.remember("", value)
}

// remember keeps identifiers of answers for later requests.
func (g *generator) remember(name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, value := range v {
			g.remember(key, value)
		}
	case []any:
		for _, value := range v {
			g.remember(name, value)
		}
	case string:
		if known := g.ids[name]; (strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_cursor")) &&
			!slices.Contains(known, v) {
			g.ids[name] = append(known[max(0, len(known)-20):], v)
		}
	}
}

func (g *generator) id(name string) string {
	if other, ok := map[string]string{"feedback_session_id": "session_id", "lesson_ids": "lesson_id",
		"cursor": "next_cursor"}[name]; ok {
		name = other
	}
	if known := g.ids[name]; len(known) > 0 && g.chance(85) {
		return known[len(known)-1-g.IntN(min(len(known), 4))]
	}
	return uuid.NewString()
}

func (g *generator) parameter(p *huma.Param, broken bool) string {
	if broken && g.chance(30) {
		if p.In == "header" {
			return pick(g, "", "x", `"`, `"1`, `W/"1"`, "bytes=", "bytes=5-2", "bytes=-1,0-0,1-2",
				"99999999999999999999", "-1")
		}
		return pick(g, g.text(30), "x", "%", "0", uuid.Nil.String(), "{"+uuid.NewString()+"}",
			"urn:uuid:"+uuid.NewString(), strings.Repeat("a", 3000))
	}
	if p.Name == "cursor" {
		return g.id("cursor")
	}
	switch v := g.value(p.Name, p.Schema, broken).(type) {
	case string:
		if p.In == "header" {
			return pick(g, `"1"`, `"2", "3"`, "*", "bytes=0-3", "bytes=-2", "bytes=99-", "3", "0")
		}
		return v
	default:
		return fmt.Sprint(v)
	}
}

// letters hold what tends to break things.
var letters = []rune("abcXYZ 09%_'\"\\<>&;,.:/é字ß\u202e\u0301👩\x00\x07\n\t\u2028\ufffd")

func (g *generator) text(n int) string {
	out := make([]rune, n)
	for i := range out {
		out[i] = letters[g.IntN(len(letters))]
	}
	return string(out)
}

// plain is text that breaks no rule.
func (g *generator) plain(n int) string {
	out := make([]rune, n)
	for i := range out {
		out[i] = []rune("abcXYZ09%_'\"\\é字")[g.IntN(15)]
	}
	return string(out)
}

func (g *generator) value(name string, s *huma.Schema, broken bool) any {
	if s.Ref != "" {
		s = g.api.Components.Schemas.SchemaFromRef(s.Ref)
	}
	if broken && g.chance(15) {
		return pick[any](g, nil, true, -1, 1.5, 1e300, "", g.text(10), []any{}, []any{nil}, object{}, object{"a": 1},
			strings.Repeat("字", 20_001))
	}
	if len(s.Enum) > 0 {
		return s.Enum[g.IntN(len(s.Enum))]
	}
	switch s.Type {
	case "string":
		return g.stringOf(name, s, broken)
	case "integer":
		low, high := -1000, 1000
		if s.Minimum != nil {
			low = int(*s.Minimum)
		}
		if s.Maximum != nil {
			high = int(*s.Maximum)
		}
		if broken {
			return pick(g, low-1, high+1, 0, math.MinInt, math.MaxInt/2)
		}
		return pick(g, low, high, low+g.IntN(high-low+1))
	case "array":
		out := []any{}
		for range 1 + g.IntN(3) {
			out = append(out, g.value(name, s.Items, broken))
		}
		return out
	case "object":
		out := object{}
		for key, property := range s.Properties {
			required := slices.Contains(s.Required, key)
			if required && !(broken && g.chance(10)) || !required && g.chance(50) {
				out[key] = g.value(key, property, broken)
			}
		}
		if broken && g.chance(10) {
			out[g.text(3)] = 1
		}
		return out
	}
	return pick[any](g, true, false)
}

func (g *generator) stringOf(name string, s *huma.Schema, broken bool) string {
	switch {
	case s.Format == "uuid":
		return g.id(name)
	case s.Format == "date":
		if broken {
			return pick(g, "2026-02-30", "0000-01-01", "9999-12-31", "2026-1-1", "20260101", "-001-01-01", g.text(10))
		}
		return pick(g, "2026-05-31", "2024-02-29", "0001-01-01", "9999-12-31")
	case s.Pattern != "":
		return pick(g, "", "00:00", "09:30", "10:00", "23:59")
	}
	limit := 60
	if s.MaxLength != nil {
		limit = *s.MaxLength
	}
	if broken {
		return g.text(pick(g, 0, 1, limit, limit+1))
	}
	return g.plain(pick(g, 1, 2, g.IntN(limit)+1, limit))
}

func (g *generator) body(op operation, header http.Header, broken bool) []byte {
	schema := op.RequestBody.Content["application/json"].Schema
	header.Set("Content-Type", "application/json")
	out, err := json.Marshal(g.value("", schema, broken))
	if err != nil {
		panic(err)
	}
	if broken && g.chance(20) {
		switch g.IntN(6) {
		case 0:
			out = out[:g.IntN(len(out)+1)]
		case 1:
			out[g.IntN(len(out))] = byte(g.IntN(256))
		case 2:
			out = []byte(strings.Repeat("[", 5000))
		case 3:
			header.Set("Content-Type", pick(g, "text/plain", "application/cbor", "application/json; charset=latin1",
				"multipart/form-data", "/", "application/problem+json", ""))
		case 4:
			out = []byte(`{"name":"\ud800","content":"\udfff"}`)
		case 5:
			header.Set("Content-Encoding", "gzip")
		}
	}
	return out
}
