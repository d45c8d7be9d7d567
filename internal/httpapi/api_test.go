package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/httpapi"
	"lessonkit.example/internal/logtest"
)

type thing struct {
	Name string   `json:"name" minLength:"1" maxLength:"10"`
	Tags []string `json:"tags" nullable:"false"`
	When month    `json:"when,omitzero"`
}

// month is a type that refuses values which its schema allows.
type month struct{ time.Month }

func (month) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: "string"} }

func (m *month) UnmarshalText([]byte) error { return errors.New("not a month") }

type thingInput struct {
	Body thing
}

type thingOutput struct {
	Body thing
}

// server has one operation of each sort under a group, as packages register theirs.
func server(t *testing.T, log io.Writer) (http.Handler, huma.API) {
	mux := http.NewServeMux()
	api := httpapi.New(mux, httpapi.Options{Title: "things", Version: "1"})
	group := huma.NewGroup(api, "/api/v1")
	huma.Register(group, huma.Operation{OperationID: "create", Method: http.MethodPost, Path: "/things",
		DefaultStatus: http.StatusCreated},
		func(_ context.Context, in *thingInput) (*thingOutput, error) {
			switch in.Body.Name {
			case "leak":
				return nil, errors.New("password authentication failed for user bob")
			case "gone":
				return nil, httpapi.Error(http.StatusConflict, "thing_gone", "it went").WithHeader("X-Why",
					"time").WithCause(errors.New("row deleted"))
			case "taken":
				return nil, huma.Error409Conflict("another one has it")
			case "away":
				return nil, huma.Error503ServiceUnavailable("printer 7 is off")
			case "panic":
				panic("dropped it")
			}
			return &thingOutput{Body: in.Body}, nil
		})
	huma.Register(group, huma.Operation{OperationID: "list", Method: http.MethodGet, Path: "/things"},
		func(_ context.Context, in *struct {
			Limit int `query:"limit" minimum:"1" maximum:"5" default:"3"`
		}) (*struct{ Body []thing }, error) {
			return &struct{ Body []thing }{Body: []thing{}}, nil
		})
	httpapi.Stream(group, huma.Operation{OperationID: "upload", Method: http.MethodPut, Path: "/things/{name}/file",
		Summary: "Upload", Errors: []int{http.StatusRequestEntityTooLarge},
		RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{
			"multipart/form-data": {Schema: &huma.Schema{Type: "object"}},
		}}},
		func(ctx huma.Context) (int, any, error) {
			r, w := humago.Unwrap(ctx)
			n, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1<<20))
			var large *http.MaxBytesError
			if errors.As(err, &large) {
				return 0, nil, httpapi.Error(http.StatusRequestEntityTooLarge, "too_large", "at most 1 MiB")
			}
			if err != nil {
				return 0, nil, err
			}
			return http.StatusOK, map[string]any{"name": ctx.Param("name"), "bytes": n}, nil
		})
	return httpapi.Wrap(mux, httpapi.WrapOptions{Logger: slog.New(slog.NewJSONHandler(log, nil))}), api
}

func do(h http.Handler, method, path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func problem(t *testing.T, w *httptest.ResponseRecorder) httpapi.Problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	var p httpapi.Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, w.Code, p.Status)
	require.Equal(t, http.StatusText(w.Code), p.Title)
	require.NotEmpty(t, p.Code)
	require.NotEmpty(t, p.Detail)
	require.Equal(t, w.Header().Get("X-Request-Id"), p.Instance)
	return p
}

func TestErrorsAreProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, path, contentType, body string
		status                                int
		code, location                        string
	}{
		{"unknown path", "GET", "/nowhere", "", "", 404, "not_found", ""},
		{"wrong method", "DELETE", "/api/v1/things", "", "", 405, "method_not_allowed", ""},
		{"malformed JSON", "POST", "/api/v1/things", "application/json", `{"name": "a`, 400, "malformed_request", ""},
		{"not UTF-8", "POST", "/api/v1/things", "application/json", "{\"name\":\"\xff\",\"tags\":[]}", 400,
			"malformed_request", ""},
		{"half a surrogate pair", "POST", "/api/v1/things", "application/json", `{"name":"\ud83d","tags":[]}`, 400,
			"malformed_request", ""},
		{"two members of one name", "POST", "/api/v1/things", "application/json",
			`{"name":"a","tags":["x"],"name":"b"}`, 400, "malformed_request", ""},
		{"unknown field", "POST", "/api/v1/things", "application/json", `{"name":"a","tags":[],"nmae":"SECRET"}`, 422,
			"invalid_fields", "body.nmae"},
		{"unknown field that differs by case", "POST", "/api/v1/things", "application/json",
			`{"name":"a","tags":[],"Name":"SECRET"}`, 422, "invalid_fields", "body"},
		{"field in another case", "POST", "/api/v1/things", "application/json", `{"name":"a","TAGS":[]}`, 422,
			"invalid_fields", "body"},
		{"field in letters of the same case", "POST", "/api/v1/things", "application/json",
			`{"name":"a","tags":[],"tagſ":["SECRET"]}`, 422, "invalid_fields", "body"},
		{"missing field", "POST", "/api/v1/things", "application/json", `{"name":"a"}`, 422, "invalid_fields", "body"},
		{"field too long", "POST", "/api/v1/things", "application/json", `{"name":"SECRETSECRETSECRET","tags":[]}`,
			422, "invalid_fields", "body.name"},
		{"null list", "POST", "/api/v1/things", "application/json", `{"name":"a","tags":null}`, 422, "invalid_fields",
			"body.tags"},
		{"no body", "POST", "/api/v1/things", "application/json", ``, 400, "malformed_request", ""},
		{"wrong content type", "POST", "/api/v1/things", "text/csv", `SECRET`, 415, "unsupported_media_type", ""},
		{"malformed query", "GET", "/api/v1/things?query=%zz", "", "", 400, "malformed_request", ""},
		{"malformed query of an unknown path", "GET", "/nowhere?%zz", "", "", 400, "malformed_request", ""},
		{"value that only the type refuses", "POST", "/api/v1/things", "application/json",
			`{"name":"a","tags":[],"when":"SECRET"}`, 422, "invalid_fields", "body"},
		{"query out of range", "GET", "/api/v1/things?limit=9", "", "", 422, "invalid_fields", "query.limit"},
		{"unknown query parameter", "GET", "/api/v1/things?lmit=2", "", "", 422, "invalid_fields", "query.lmit"},
		{"a handler's problem", "POST", "/api/v1/things", "application/json", `{"name":"gone","tags":[]}`, 409,
			"thing_gone", ""},
		{"a handler's conflict", "POST", "/api/v1/things", "application/json", `{"name":"taken","tags":[]}`, 409,
			"conflict", ""},
		{"a handler's plain error", "POST", "/api/v1/things", "application/json", `{"name":"leak","tags":[]}`, 500,
			"internal_error", ""},
		{"a panic", "POST", "/api/v1/things", "application/json", `{"name":"panic","tags":[]}`, 500, "internal_error",
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			h, _ := server(t, &log)
			w := do(h, c.method, c.path, c.contentType, strings.NewReader(c.body))
			p := problem(t, w)
			require.Equal(t, c.status, p.Status, w.Body.String())
			require.Equal(t, c.code, p.Code)
			if c.location != "" {
				require.Equal(t, c.location, p.Errors[0].Location)
			}
			require.NotContains(t, w.Body.String(), "SECRET", "what was sent is not echoed")
			require.NotContains(t, w.Body.String(), "bob", "causes are not shown")
			require.NotContains(t, w.Body.String(), "dropped it")
			require.NotRegexp(t, `httpapi|Go |\.thing`, w.Body.String(), "Go types are not shown")
		})
	}
}

func TestCausesAreLoggedUnderTheRequestID(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"leak": "user bob", "panic": "dropped it", "gone": "row deleted",
		"away": "printer 7"} {
		var log bytes.Buffer
		h, _ := server(t, &log)
		w := do(h, "POST", "/api/v1/things", "application/json", strings.NewReader(`{"name":"`+name+`","tags":[]}`))
		require.Contains(t, log.String(), want)
		require.Contains(t, log.String(), w.Header().Get("X-Request-Id"))
		require.Contains(t, log.String(), `"route":"POST /api/v1/things"`)
		var p httpapi.Problem
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.Equal(t, 1, strings.Count(log.String(), `"code":"`+p.Code+`"`), "a status may have many reasons")
		require.Equal(t, name == "gone", w.Header().Get("X-Why") == "time", "the headers of a problem are sent")
	}
}

func TestRequestLineHasResourceBytesAndClient(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h, _ := server(t, &log)
	w := do(h, "PUT", "/api/v1/things/abc/file?secret=1", "text/plain", strings.NewReader("12345"))
	require.Equal(t, http.StatusOK, w.Code)
	var line struct {
		Level    string
		Name     string
		Code     string
		BytesIn  int     `json:"bytes_in"`
		BytesOut int     `json:"bytes_out"`
		TookMS   float64 `json:"took_ms"`
		Client   string
	}
	require.NoError(t, json.Unmarshal(log.Bytes(), &line))
	require.Equal(t, "abc", line.Name)
	require.Equal(t, 5, line.BytesIn)
	require.Equal(t, w.Body.Len(), line.BytesOut)
	require.Positive(t, line.TookMS)
	require.Equal(t, "192.0.2.1", line.Client, "of httptest")
	require.NotContains(t, log.String(), "secret")

	log.Reset()
	do(h, "PUT", "/api/v1/things/%22line%0Aend/file", "text/plain", strings.NewReader("12345"))
	require.NotContains(t, log.String(), "end", "only plain values are logged")

	log.Reset()
	w = do(h, "GET", "/nowhere", "", nil)
	require.NoError(t, json.Unmarshal(log.Bytes(), &line))
	require.Equal(t, w.Body.Len(), line.BytesOut)
	require.Equal(t, "not_found", line.Code)
}

func TestRequestsOfProbesAreLoggedAtDebug(t *testing.T) {
	t.Parallel()
	for status, level := range map[int]string{200: "DEBUG", 503: "INFO"} {
		var log bytes.Buffer
		mux := http.NewServeMux()
		mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		h := httpapi.Wrap(mux, httpapi.WrapOptions{
			Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Probes: []string{"GET /readyz"},
		})
		do(h, "GET", "/readyz", "", nil)
		require.Contains(t, log.String(), `"level":"`+level+`"`)
	}
}

// TestRetryAfterIsInTheBodyToo: some clients cannot read headers.
func TestRetryAfterIsInTheBodyToo(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	err := httpapi.Error(http.StatusServiceUnavailable, "later", "").WithRetryAfter(1500 * time.Millisecond)
	httpapi.WriteError(w, httptest.NewRequest("GET", "/", nil), err)
	require.Equal(t, "2", w.Header().Get("Retry-After"))
	var p httpapi.Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, 2, p.RetryAfterSeconds)
}

func TestAnswersCarryNoSchemaLinks(t *testing.T) {
	t.Parallel()
	h, _ := server(t, io.Discard)
	w := do(h, "POST", "/api/v1/things", "application/json", strings.NewReader(`{"name":"a","tags":[]}`))
	require.Equal(t, http.StatusCreated, w.Code)
	require.JSONEq(t, `{"name":"a","tags":[]}`, w.Body.String())
	require.Empty(t, w.Header().Get("Link"))
	require.JSONEq(t, `[]`, do(h, "GET", "/api/v1/things", "", nil).Body.String())
}

func TestJSONThatIsOddAndRight(t *testing.T) {
	t.Parallel()
	h, _ := server(t, io.Discard)
	for _, body := range []string{
		`{"name":"\ud83d\ude00","tags":[]}`, `{"name":"�","tags":[]}`, `{"name":"\ufffd","tags":["name","name"]}`,
		` {"tags":["{","\"name\""],"name":"a"} `,
	} {
		require.Equal(t, http.StatusCreated,
			do(h, "POST", "/api/v1/things", "application/json", strings.NewReader(body)).Code, body)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	h, _ := server(t, io.Discard)
	for given, kept := range map[string]bool{"abc-1.2_3": true, "": false, "a b": false, "x\r\ny": false,
		strings.Repeat("a", 65): false} {
		r := httptest.NewRequest("GET", "/api/v1/things", nil)
		r.Header.Set("X-Request-Id", given)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		id := w.Header().Get("X-Request-Id")
		require.Equal(t, kept, id == given && given != "", "%q → %q", given, id)
		require.NotEmpty(t, id)
	}
}

func TestStreamsAreNotReadForTheHandler(t *testing.T) {
	t.Parallel()
	h, _ := server(t, io.Discard)
	w := do(h, "PUT", "/api/v1/things/a/file", "multipart/form-data; boundary=x",
		strings.NewReader("raw, not multipart at all"))
	require.JSONEq(t, `{"name":"a","bytes":25}`, w.Body.String())
	w = do(h, "PUT", "/api/v1/things/a/file", "multipart/form-data; boundary=x", bytes.NewReader(make([]byte, 2<<20)))
	require.Equal(t, "too_large", problem(t, w).Code)
}

// TestDocumentKeepsTheOrderOfTheOperations: a reference page shows them as the document has them.
func TestDocumentKeepsTheOrderOfTheOperations(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	api := httpapi.New(mux, httpapi.Options{Title: "order", Version: "1"})
	handler := func(huma.Context) (int, any, error) { return 204, nil, nil }
	form := map[string]*huma.MediaType{"audio/*": {}, "multipart/form-data": {}}
	for _, path := range []string{"/start", "/finish", "/again"} {
		httpapi.Stream(api, huma.Operation{OperationID: path[1:], Method: "POST", Path: path,
			RequestBody: &huma.RequestBody{Content: form}}, handler)
	}
	text := do(mux, "GET", "/openapi.json", "", nil).Body.String()
	at := func(s string) int {
		require.Contains(t, text, s)
		return strings.Index(text, s)
	}
	require.Less(t, at(`"/start":`), at(`"/finish":`))
	require.Less(t, at(`"/finish":`), at(`"/again":`))
	require.Less(t, at(`"multipart/form-data":`), at(`"audio/*":`), "what tools choose first")
	require.Contains(t, text, `"servers":[{"url":"/"}]`)
}

func TestAnswersInJSONAreNotStored(t *testing.T) {
	t.Parallel()
	h, _ := server(t, io.Discard)
	for path, cache := range map[string]string{
		"/api/v1/things": "no-store", "/api/v1/things?x=1": "no-store", "/nowhere": "no-store", "/?%zz": "no-store",
		"/openapi.json": "no-cache",
	} {
		w := do(h, "GET", path, "", nil)
		require.Equal(t, cache, w.Header().Get("Cache-Control"), path)
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), path)
	}
}

func TestCacheBustersAreIgnored(t *testing.T) {
	t.Parallel()
	h, _ := server(t, io.Discard)
	for _, query := range []string{
		"_=1", "_t=1&limit=2", "limit=2&_timestamp=1&_t", "_%20x=1", "%5Ft=1", "%5ft=1&limit=2",
	} {
		require.Equal(t, 200, do(h, "GET", "/api/v1/things?"+query, "", nil).Code, query)
	}
	require.Equal(t, 422, do(h, "GET", "/api/v1/things?_t=1&limit=9", "", nil).Code)
	require.Equal(t, 422, do(h, "GET", "/api/v1/things?t=1", "", nil).Code)
	require.Equal(t, 422,
		do(h, "POST", "/api/v1/things?_t=1", "application/json", strings.NewReader(`{"name":"a","tags":[]}`)).Code)
}

// TestMalformedChunksAre400: the body cannot be read, which is not the server's fault.
func TestMalformedChunksAre400(t *testing.T) {
	t.Parallel()
	var log logtest.Buffer
	h, _ := server(t, &log)
	s := httptest.NewServer(h)
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "POST /api/v1/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\nnot a length\r\n{}\r\n0\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	var p httpapi.Problem
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&p))
	require.Equal(t, 400, resp.StatusCode)
	require.Equal(t, "malformed_request", p.Code)
	s.Close() // waits for the line in the log
	require.Contains(t, log.String(), `"status":400`)
	require.NotContains(t, log.String(), `"level":"ERROR"`)
	require.Equal(t, 1, strings.Count(log.String(), `"code":`), log.String())
}

// TestErrorsAreShort: names that a client sends are cut, and so is a long list of them.
func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	h, _ := server(t, io.Discard)
	long := strings.Repeat("x", 100_000)
	w := do(h, "POST", "/api/v1/things", "application/json", strings.NewReader(`{"name":"a","tags":[],"`+long+`":1}`))
	require.Equal(t, 422, w.Code)
	require.Less(t, w.Body.Len(), 2000)
	many := &strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(many, `,"x%d":1`, i)
	}
	body := `{"name":"a","tags":[]` + many.String() + `}`
	p := problem(t, do(h, "POST", "/api/v1/things", "application/json", strings.NewReader(body)))
	require.Len(t, p.Errors, 21)
	require.Contains(t, p.Errors[20].Message, "980 more")
	require.Equal(t, 422, do(h, "GET", "/api/v1/things?"+long+"=1", "", nil).Code)
}

func TestPanicAfterTheAnswerBeganCutsTheConnection(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){
		"a panic": func() { panic("half way") },
		"Cut":     func() { httpapi.Cut(errors.New("half way")) },
	} {
		observed := make(chan int, 1)
		s := httptest.NewServer(httpapi.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			io.WriteString(w, strings.Repeat("x", 100_000))
			end()
		}), httpapi.WrapOptions{Observe: func(_, _ string, status int, _ time.Duration) { observed <- status }}))
		defer s.Close()
		resp, err := http.Get(s.URL)
		require.NoError(t, err, name)
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err, name)
		s.Close() // waits for the handler
		require.Len(t, observed, 1, name)
		require.Equal(t, http.StatusAccepted, <-observed, name)
	}
}
