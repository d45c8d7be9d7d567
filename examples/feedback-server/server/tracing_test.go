package server_test

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
)

// collected are the spans that a collector has received.
type collected struct {
	url string

	mu    sync.Mutex
	spans []*otlp.Span
}

// collectSpans starts a collector.
func collectSpans(t *testing.T) *collected {
	c := &collected{}
	service := strconv.Quote(cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "feedback-server"))
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
			t.Errorf("%s is not an export of traces: %v", r.URL, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range request.ResourceSpans {
			if !strings.Contains(prototext.Format(resource.Resource), service) {
				t.Errorf("of another service: %v", resource.Resource)
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// all returns the spans in the order in which they have begun.
func (c *collected) all() []*otlp.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(slices.Values(c.spans), func(a, b *otlp.Span) int {
		return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano)
	})
}

// wait returns the first span with a name, once it has been received.
func (c *collected) wait(t *testing.T, name string) *otlp.Span {
	t.Helper()
	var found *otlp.Span
	require.Eventually(t, func() bool {
		for _, span := range c.all() {
			if span.Name == name {
				found = span
				return true
			}
		}
		return false
	}, timeout, 20*time.Millisecond, name)
	return found
}

func (c *collected) below(span *otlp.Span) (children []*otlp.Span) {
	for _, child := range c.all() {
		if string(child.ParentSpanId) == string(span.SpanId) {
			children = append(children, child)
		}
	}
	return children
}

func (c *collected) statements(span *otlp.Span) string {
	var texts []string
	for _, child := range c.below(span) {
		texts = append(texts, attributeOf(child, "db.query.text"))
	}
	return strings.Join(texts, "\n")
}

func attributeOf(span *otlp.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			return cmp.Or(a.Value.GetStringValue(), prototext.Format(a.Value))
		}
	}
	return ""
}

// observed returns the address of a proxy in front of a service, and the traceparent headers of the
// requests that it has passed on.
func observed(t *testing.T, service string) (address string, parents func() []string) {
	target, err := url.Parse(service)
	require.NoError(t, err)
	var mu sync.Mutex
	var seen []string
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if parent := r.Header.Get("Traceparent"); parent != "" {
			seen = append(seen, parent)
		}
		mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

const (
	secretStudent = "Zephyrina"
	secretText    = "heliotropes"
)

func tracedServer(
	t *testing.T, environment map[string]string,
) (s *server.Server, c feedbackclient.Client, address string) {
	s = newServer(t, server.RoleAll, environment)
	address = "http://" + serve(t, s)
	return s, feedbackclient.Development(address, "teacher"), address
}

// recordedLesson uploads a recording, and waits until its segment has the state.
func recordedLesson(
	t *testing.T, c feedbackclient.Client, state string,
) (feedbackclient.Session, feedbackclient.Segment) {
	_, session, lesson := openLesson(t, c, secretStudent)
	segment, err := c.Upload(t.Context(), lesson.ID, 0, "a.wav", asrtest.WAV(10*time.Millisecond))
	require.NoError(t, err)
	return session, waitState(t, c, segment.ID, state)
}

// A recogniser may quote the prompt, which contains the name of the student.
func TestSpansOfAFailedAttemptDoNotContainTheError(t *testing.T) {
	t.Parallel()
	got := collectSpans(t)
	recognizer := asrtest.NewCustomServer(t, func(_ *asrtest.Server, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(map[string]string{"detail": "the prompt is " + r.FormValue("prompt")})
	})
	_, c, _ := tracedServer(t, map[string]string{
		"DATABASE_URL":                  "sqlite:" + filepath.Join(t.TempDir(), "x.db"),
		"ALLOW_DEVELOPMENT_USER_HEADER": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": got.url,
		"LOCAL_ASR_URL": recognizer.URL,
	})
	_, segment := recordedLesson(t, c, "failed")
	require.Contains(t, segment.Error, "the prompt is ")
	process := got.wait(t, "process speech")
	require.Equal(t, "*asr.Error", attributeOf(process, "error.type"))
	require.Equal(t, otlp.Status_STATUS_CODE_ERROR, process.Status.Code)
	for _, span := range got.all() {
		require.NotContains(t, prototext.Format(span), secretStudent)
	}
}

func TestServerExportsItsLastSpansBeforeItEnds(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "worker") // it has its name from the environment
	got := collectSpans(t)
	s := newServer(t, server.RoleAPI, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": got.url})
	require.Equal(t, http.StatusOK, get(s.Handler(), "/openapi.json").Code)
	require.NoError(t, s.Close())
	require.Len(t, got.all(), 1)
}

func TestOneTraceFromTheUploadToTheText(t *testing.T) {
	t.Parallel()
	got := collectSpans(t)
	recognizer, recognized := observed(t, asrtest.NewServer(t, asrtest.WhisperCPP).URL)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"choices":[{"message":{"content":"They drew `+secretText+`."}}]}`)
	}))
	t.Cleanup(endpoint.Close)
	chat, summarized := observed(t, endpoint.URL)
	s, c, address := tracedServer(t, map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "ALLOW_DEVELOPMENT_USER_HEADER": "true",
		"LOCAL_ASR_URL": recognizer, "OTEL_EXPORTER_OTLP_ENDPOINT": got.url,
		"FEEDBACK_SUMMARY_API_URL": chat, "FEEDBACK_SUMMARY_MODEL": "any",
		"FEEDBACK_SUMMARY_API_KEY": "hush-hush",
	})
	session, _ := recordedLesson(t, c, "transcribed")
	_, err := c.Generate(t.Context(), session.ID, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, get(s.Handler(), "/health").Code)
	const client = "0af7651916cd43dd8448eb211c80319c"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/openapi.json", nil)
	require.NoError(t, err)
	request.Header.Set("Traceparent", "00-"+client+"-b7ad6b7169203331-01")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	document := got.wait(t, "GET /openapi.json") // by then all others that began before have ended
	upload := got.wait(t, "POST /api/v1/feedback-lessons/{lesson_id}/segments")
	require.Equal(t, otlp.Span_SPAN_KIND_SERVER, upload.Kind)
	require.Empty(t, upload.ParentSpanId)
	require.Equal(t, "/api/v1/feedback-lessons/{lesson_id}/segments", attributeOf(upload, "http.route"))
	require.Contains(t, attributeOf(upload, "http.response.status_code"), "202")
	require.Contains(t, got.statements(upload), "insert into feedback_segments")

	send, process := got.wait(t, "send speech"), got.wait(t, "process speech")
	require.Equal(t, upload.SpanId, send.ParentSpanId)
	require.Equal(t, send.SpanId, process.ParentSpanId)
	require.Equal(t, send.SpanId, process.Links[0].SpanId)
	require.Contains(t, got.statements(process), "update feedback_segments")
	recognize := got.wait(t, "recognize")
	require.Equal(t, process.SpanId, recognize.ParentSpanId)
	requireClientSpan(t, got, recognize, recognized())
	for _, span := range []*otlp.Span{send, process, recognize} {
		require.Equal(t, upload.TraceId, span.TraceId)
	}

	generate := got.wait(t, "POST /api/v1/feedback-sessions/{session_id}/generate")
	summarize := got.wait(t, "summarize")
	require.Equal(t, generate.SpanId, summarize.ParentSpanId)
	require.Equal(t, "remote", attributeOf(summarize, "summary.source"))
	requireClientSpan(t, got, summarize, summarized())
	require.Contains(t, got.statements(generate), "update feedback_sessions")

	require.NotEqual(t, client, hex.EncodeToString(document.TraceId), "clients do not decide on sampling")
	require.Equal(t, client, hex.EncodeToString(document.Links[0].TraceId))
	for _, span := range got.all() {
		text := prototext.Format(span)
		require.NotEqual(t, "GET /health", span.Name)
		if attributeOf(span, "db.system.name") != "" {
			require.NotEmpty(t, span.ParentSpanId, "polls have no traces: %s", text)
			require.Equal(t, "sqlite", attributeOf(span, "db.system.name"))
			require.Equal(t, otlp.Span_SPAN_KIND_CLIENT, span.Kind)
		}
		for _, private := range []string{secretStudent, secretText, "hush-hush", "heard "} {
			require.NotContains(t, text, private)
		}
	}
}

// requireClientSpan checks the spans of requests to a service, of which the last one was
// successful, and that the service can continue the trace.
func requireClientSpan(t *testing.T, got *collected, parent *otlp.Span, traceparents []string) {
	t.Helper()
	requests := got.below(parent)
	require.NotEmpty(t, requests)
	require.Len(t, traceparents, len(requests))
	for i, span := range requests {
		require.Equal(t, otlp.Span_SPAN_KIND_CLIENT, span.Kind)
		require.Equal(t, "127.0.0.1", attributeOf(span, "server.address"))
		want := "00-" + hex.EncodeToString(span.TraceId) + "-" + hex.EncodeToString(span.SpanId) + "-01"
		require.Equal(t, want, traceparents[i])
	}
	last := requests[len(requests)-1]
	require.Equal(t, "POST", last.Name)
	require.Contains(t, attributeOf(last, "http.response.status_code"), "200")
}
