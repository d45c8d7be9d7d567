//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"lessonkit.example/examples/feedback-server/fleet"
)

// spans are what a collector has received, decoded by OpenTelemetry's own definition of OTLP.
type spans struct {
	mu       sync.Mutex
	all      []*otlp.Span
	services []string
}

// ServeHTTP implements http.Handler.
func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var export collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &export)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || r.URL.Path != "/v1/traces" {
		s.services = append(s.services, fmt.Sprintf("%s %s: %v", r.Method, r.URL, err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, resource := range export.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				s.services = append(s.services, a.Value.GetStringValue())
			}
		}
		for _, scope := range resource.ScopeSpans {
			s.all = append(s.all, scope.Spans...)
		}
	}
}

// named returns the spans with a name.
func (s *spans) named(name string) (found []*otlp.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.all {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// A phone's upload and the text of its recording are one trace, also over several processes.
func TestProcessesExportOneTrace(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		got := &spans{}
		endpoint := httptest.NewServer(got)
		t.Cleanup(endpoint.Close)
		s := newService(t, url, newRecogniser(t).url())
		s.env = append(s.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint.URL)
		var processes []*process
		if s.shared() {
			worker := start(t, "feedback-server", append(s.beside(t).env, "OTEL_SERVICE_NAME=worker"),
				"serve", "-role", "worker")
			s.process = start(t, "feedback-server", s.env, "serve", "-role", "api")
			eventually(t, "the server serves", func() bool {
				_, err := s.client.Health(t.Context())
				return err == nil
			})
			processes = append(processes, worker)
		} else {
			s.start(t)
		}
		processes = append(processes, s.process)
		_, _, lesson := s.openLesson(t)
		segment, err := s.client.Upload(t.Context(), lesson.ID, 0, "a.mp3", fleet.NewRecording())
		require.NoError(t, err)
		eventually(t, "the segment has text", func() bool {
			segment, err := s.client.Segment(t.Context(), segment.ID)
			require.NoError(t, err)
			return segment.State == "transcribed"
		})
		for _, p := range processes {
			require.NoError(t, p.stop(t)) // which exports the last spans
		}
		uploads := got.named("POST /api/v1/feedback-lessons/{lesson_id}/segments")
		require.Len(t, uploads, 1)
		require.Len(t, got.named("process speech"), 1)
		for _, name := range []string{"send speech", "process speech", "recognize", "insert feedback_segments",
			"update feedback_segments"} {
			require.NotEmpty(t, got.named(name), name)
			require.Equal(t, uploads[0].TraceId, got.named(name)[0].TraceId, name)
		}
		require.Contains(t, got.services, "feedback-server")
		if s.shared() {
			require.Contains(t, got.services, "worker")
		}
		for _, service := range got.services {
			require.Contains(t, []string{"feedback-server", "worker"}, service)
		}
	})
}
