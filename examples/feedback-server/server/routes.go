package server

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"lessonkit.example/auth/authhttp"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/jobqueue/queueui"
)

const title = "Teaching feedback"

const description = "A teacher keeps student profiles, records comments on lessons, has them transcribed and " +
	"summarized, and saves dated feedback records.\n\n" +
	"Sign in at `POST /api/v1/auth/miniapp/login` and send the token as `Authorization: Bearer …`. Where an OAuth 2 " +
	"server takes the mini program's place, a page signs in at `GET /api/v1/auth/oauth`."

// registerState adds the endpoints for operators and load balancers, with details for operators if
// they get them here.
func registerState(api huma.API, h *health, o *operator, here bool) {
	api.OpenAPI().Tags = append(api.OpenAPI().Tags, &huma.Tag{
		Name: "State", Description: "For operators and load balancers.",
	})
	huma.Register(api, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: "/health", Tags: []string{"State"},
		Security:           []map[string][]string{}, // none is required
		SkipValidateParams: true,                    // a prober may add a query of its own
		Summary:            "State of the service",
		Description: "Answers 200 within two seconds while the process serves, also without a database. Details are " +
			"for operators, with their password by HTTP Basic authentication, and on servers for development. A " +
			"server with an address for operators gives them there.",
	}, func(ctx context.Context, in *stateInput) (*struct{ Body Report }, error) {
		detailed := h.config.DevelopmentSignIn()
		if !detailed && here {
			detailed, _ = o.signIn(in.request)
		}
		report := h.report(ctx)
		if !detailed {
			report = report.withoutDetails()
		}
		return &struct{ Body Report }{report}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/readyz", Tags: []string{"State"},
		Security:           []map[string][]string{},
		SkipValidateParams: true,
		Summary:            "Readiness, for load balancers",
		Description: "Answers 200 while the database is reachable and migrated and the server is not stopping, " +
			"else 503. Without space for more, storage_available is false: reading, deleting and signing in work.",
		Errors: []int{http.StatusServiceUnavailable},
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body Readiness }, error) {
		if !h.ready(ctx) {
			const detail = "the database is not reachable or not migrated, or the server is stopping"
			return nil, feedbackhttp.Error(http.StatusServiceUnavailable, "not_ready", detail, healthMaxAge)
		}
		return &struct{ Body Readiness }{Readiness{Ready: true, StorageAvailable: h.state(ctx).storage}}, nil
	})
}

type stateInput struct{ request *http.Request }

// Resolve implements huma.Resolver.
func (in *stateInput) Resolve(ctx huma.Context) []error {
	in.request, _ = humago.Unwrap(ctx)
	return nil
}

// Readiness is the body of GET /readyz.
type Readiness struct {
	Ready            bool `json:"ready"`
	StorageAvailable bool `json:"storage_available" doc:"As in /health."`
}

// closeConnections closes each connection after its next response while the server is stopping, so
// that no request is lost when the port closes.
func closeConnections(stopping *atomic.Bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// registerQueue adds the pages of the job queue to a mux that clients reach below a path.
func registerQueue(mux *http.ServeMux, path string, db *database, o *operator, log *slog.Logger) {
	var pages http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "There is no job queue without a database: set DATABASE_URL.", http.StatusServiceUnavailable)
	})
	if db != nil {
		config := queueui.Config{Prefix: path + "/admin/queue", Title: "Job queue", Logger: log}
		pages = addPrefix(path, queueui.New(db.client, config))
	}
	mux.Handle("/admin/queue/", o.require(pages))
	mux.HandleFunc("GET /admin/queue", redirect("queue/"))
}

// documentSignIn completes the OpenAPI document with the ways to sign in, as the default of the
// document and of each operation that requires one. The development header comes first where it is
// accepted: tools prepare requests with the first.
func documentSignIn(doc *huma.OpenAPI, development bool) {
	doc.Security = []map[string][]string{{"bearer": {}}, {"cookie": {}}}
	if development {
		const scheme = "development"
		doc.Components.SecuritySchemes[scheme] = &huma.SecurityScheme{
			Type: "apiKey", In: "header", Name: authhttp.DevelopmentHeader,
			Description: "Any name; each is a teacher of its own. Only servers for development accept it.",
			// The reference page starts with this name filled in.
			Extensions: map[string]any{"x-scalar-secret-token": "developer"},
		}
		doc.Security = slices.Insert(doc.Security, 0, map[string][]string{scheme: {}})
	}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
			if op != nil && len(op.Security) > 0 {
				op.Security = doc.Security
			}
		}
	}
}
