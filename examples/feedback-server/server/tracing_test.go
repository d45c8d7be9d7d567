package server_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/pgtest"
)

// collectSpans returns the address of a collector, and a function that returns what it has received
// by name.
func collectSpans(t *testing.T) (address string, spans func() map[string]*otlp.Span) {
	var mu sync.Mutex
	received := map[string]*otlp.Span{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
			t.Errorf("%s is not an export of traces: %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					received[span.Name] = span
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() map[string]*otlp.Span {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(received)
	}
}

// An upload and its transcription are in one trace, which the client does not decide on.
func TestUploadAndTranscriptionAreOneTrace(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "postgres": pgtest.URL(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, spans := collectSpans(t)
			s := newServer(t, server.RoleAll, map[string]string{
				"DATABASE_URL": database, "ALLOW_DEVELOPMENT_USER_HEADER": "true",
				"LOCAL_ASR_URL": asrtest.NewServer(t, asrtest.WhisperCPP).URL, "OTEL_EXPORTER_OTLP_ENDPOINT": address,
			})
			require.NoError(t, s.Migrate(t.Context()))
			url := "http://" + serve(t, s)
			c := feedbackclient.Development(url, "teacher")
			profile, err := c.EnsureProfile(t.Context(), "Someone")
			require.NoError(t, err)
			session, err := c.OpenSession(t.Context(), profile.ID)
			require.NoError(t, err)
			lesson, err := c.StartLesson(t.Context(), session.ID)
			require.NoError(t, err)
			_, err = c.Upload(t.Context(), lesson.ID, 0, "a.wav", asrtest.WAV(10*time.Millisecond))
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, get(s.Handler(), "/health").Code)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/openapi.json", nil)
			require.NoError(t, err)
			const client = "0af7651916cd43dd8448eb211c80319c"
			request.Header.Set("Traceparent", "00-"+client+"-b7ad6b7169203331-01")
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			var upload, send, process, document *otlp.Span
			require.Eventually(t, func() bool {
				got := spans()
				send, process = got["send speech"], got["process speech"]
				document = got["GET /openapi.json"]
				for _, span := range got {
					if send != nil && bytes.Equal(span.SpanId, send.ParentSpanId) {
						upload = span
					}
				}
				return upload != nil && process != nil && document != nil
			}, 60*time.Second, 50*time.Millisecond)
			require.Equal(t, otlp.Span_SPAN_KIND_SERVER, upload.Kind)
			require.Contains(t, upload.Name, "/segments")
			require.Equal(t, upload.TraceId, process.TraceId)
			require.Equal(t, send.SpanId, process.ParentSpanId)
			require.Equal(t, send.SpanId, process.Links[0].SpanId)
			require.NotEqual(t, client, hex.EncodeToString(document.TraceId))
			require.Equal(t, client, hex.EncodeToString(document.Links[0].TraceId))
			require.NotContains(t, spans(), "GET /health")
		})
	}
}

// A collector that does not answer does not make a clean stop fail.
func TestClosingWithoutItsCollector(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	s, err := server.New(t.Context(), server.Config{OTLPEndpoint: slow.URL}, server.Options{})
	require.NoError(t, err)
	s.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/profiles", nil))
	require.NoError(t, s.Close())
}
