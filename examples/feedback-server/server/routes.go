package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/auth/authhttp"
	"lessonkit.example/examples/internal/docsui"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/internal/httpapi"
)

const title = "Teaching feedback"

const description = `A teacher keeps student profiles, records what was said about lessons, has it transcribed and summed up, and saves dated feedback records.

Sign in at ` + "`POST /api/v1/auth/miniapp/login`" + ` and send the token as ` + "`Authorization: Bearer …`" + `.`

// apiPrefix is where the business endpoints live.
const apiPrefix = "/api/v1"

// Handler serves what belongs to the role: sign-in, the feedback book and the
// reference of both; state and metrics in any case.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	api := httpapi.New(mux, httpapi.Options{Title: title, Version: s.version, Description: description})
	s.registerState(api)
	mux.Handle("GET /metrics", s.metrics.handler())
	if s.role != RoleWorker {
		v1 := huma.NewGroup(api, apiPrefix)
		authhttp.Register(v1, s.authConfig())
		feedbackhttp.Register(v1, s.feedbackConfig())
		api.OpenAPI().Tags = tags
		reference := docsui.Handler(docsui.Config{Title: title, Script: s.config.ScalarJS, Logger: s.log})
		mux.Handle("GET /scalar", reference)
		mux.Handle("GET /scalar/", reference)
	}
	return httpapi.Wrap(s.farewell(httpapi.NoteRoute(mux)), httpapi.WrapOptions{Logger: s.log, Observe: s.metrics.observeRequest})
}

// tags orders the reference as the work goes.
var tags = []*huma.Tag{
	{Name: "Sign-in"}, {Name: "Profiles"}, {Name: "Voice sessions"}, {Name: "Lessons"},
	{Name: "Audio segments"}, {Name: "Feedback records"}, {Name: "State"},
}

// farewell ends each connection with its next answer once the server was
// asked to stop, so that none is cut when the port is closed.
func (s *Server) farewell(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// registerState adds the endpoints for those who look after the server.
func (s *Server) registerState(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: "/health", Tags: []string{"State"},
		SkipValidateParams: true, // a prober's own query is no mistake
		Summary:            "State of the service",
		Description:        "Answers 200 as long as the process serves, within two seconds, also without a database.",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body Report }, error) {
		return &struct{ Body Report }{s.health.Report(ctx)}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/readyz", Tags: []string{"State"},
		SkipValidateParams: true,
		Summary:            "Readiness, for load balancers",
		Description:        "200 while the database answers and is migrated and the server was not asked to stop, else 503.",
		Errors:             []int{http.StatusServiceUnavailable},
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body Readiness }, error) {
		if !s.health.Ready(ctx) {
			return nil, httpapi.Error(http.StatusServiceUnavailable, "not_ready", "the database does not answer or is not migrated, or the server is about to stop").WithRetryAfter(healthMemory)
		}
		return &struct{ Body Readiness }{Readiness{Ready: true}}, nil
	})
}

// Readiness is the answer of GET /readyz.
type Readiness struct {
	Ready bool `json:"ready"`
}
