// Package feedbackhttp is the HTTP interface of package feedback.
//
// [Handler] returns a complete http.Handler with its own OpenAPI document, to
// be mounted anywhere. [Register] adds the same operations to a Huma API of
// yours. Who is asking is told by [Config.Teacher], so that any kind of
// sign-in in front will do.
//
// Errors are RFC 9457 problem documents with a stable "code". Without a
// [feedback.Service] every operation answers 503: a server can start before
// its database is configured.
package feedbackhttp

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/httpapi"
)

// Config is what the interface is made of.
type Config struct {
	// Service does the work. If nil, no database is configured and every
	// operation answers 503 with the code database_not_configured.
	Service *feedback.Service

	// Teacher tells who is asking, from the request's context; false is
	// answered 401. Required.
	Teacher func(ctx context.Context) (uuid.UUID, bool)

	// SignedIn tells whether the sender of a request with this header is still
	// signed in. It is asked every 15 seconds of a stream of events, which ends
	// when the answer is false. If nil, a stream outlives its sign-in.
	SignedIn func(ctx context.Context, header http.Header) bool

	// SecurityScheme names the OpenAPI security scheme of the operations.
	// Defaults to "bearer".
	SecurityScheme string

	// BasePath is where [Handler] is mounted, for the OpenAPI document, as in
	// "/teach". Defaults to the root.
	BasePath string

	// Logger takes one line a request from [Handler]. If nil, nothing is logged.
	Logger *slog.Logger
}

// Prefix is the path that [Handler] serves below.
const Prefix = "/api/v1"

// Handler returns the whole interface below /api/v1, and its document at
// /openapi.json.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	o := httpapi.Options{Title: "Teaching feedback", Version: "1", BearerScheme: c.SecurityScheme,
		Description: "Students' profiles, feedback records, and voice sessions with background transcription."}
	if c.BasePath != "" {
		o.Servers = []string{c.BasePath}
	}
	Register(huma.NewGroup(httpapi.New(mux, o), Prefix), c)
	return httpapi.Wrap(mux, httpapi.WrapOptions{Logger: c.Logger})
}

// Register adds the operations to an API, with paths relative to it: give it a
// group such as huma.NewGroup(api, "/api/v1").
func Register(api huma.API, c Config) {
	if c.Teacher == nil {
		panic("feedbackhttp: Config.Teacher is required")
	}
	if c.SecurityScheme == "" {
		c.SecurityScheme = "bearer"
	}
	group := huma.NewGroup(api)
	group.UseMiddleware(c.gate(api))
	group.UseTransformer(nameRequest)
	s := &server{svc: c.Service, scheme: c.SecurityScheme, signedIn: c.SignedIn}
	if s.signedIn == nil {
		s.signedIn = func(context.Context, http.Header) bool { return true }
	}
	s.registerProfiles(group)
	s.registerDefaults(group)
	s.registerRecords(group)
	s.registerSessions(group)
	s.registerLessons(group)
	s.registerSegments(group)
	s.registerUpload(group)
	s.registerAudio(group)
	s.registerEvents(group)
}

// server holds what the handlers share.
type server struct {
	svc      *feedback.Service
	scheme   string
	signedIn func(ctx context.Context, header http.Header) bool
}

type teacherKey struct{}

// gate answers for all operations, before anything of a request is looked at:
// first whether there is a database, then who is asking.
func (c Config) gate(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if c.Service == nil {
			httpapi.Refuse(api, ctx, httpapi.Error(http.StatusServiceUnavailable, "database_not_configured",
				"no database is configured on this server").WithRetryAfter(time.Minute))
			return
		}
		teacher, ok := c.Teacher(ctx.Context())
		if !ok {
			httpapi.Refuse(api, ctx, httpapi.Error(http.StatusUnauthorized, "unauthorized",
				"sign in and send the session token as a bearer token").WithHeader("WWW-Authenticate", "Bearer"))
			return
		}
		next(huma.WithValue(ctx, teacherKey{}, teacher))
	}
}

// teacher is who passed the gate.
func teacher(ctx context.Context) uuid.UUID {
	id, ok := ctx.Value(teacherKey{}).(uuid.UUID)
	if !ok {
		panic("feedbackhttp: an operation is served around the gate")
	}
	return id
}

// bodyTimeout is how long a JSON body may take to arrive.
const bodyTimeout = 30 * time.Second

// schemaOf is for responses that Huma does not derive from a handler.
func schemaOf[T any](api huma.API) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// Statuses that every operation can fail with, and those with a JSON body.
var (
	always   = []int{http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable}
	jsonBody = []int{http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType}
)

// operation describes an operation and the statuses it can fail with beyond always.
func (s *server) operation(method, path, id, tag, summary, description string, status int, errors ...int) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Tags: []string{tag}, Summary: summary, Description: description,
		DefaultStatus:   status,
		Errors:          slices.Concat(always, errors),
		Security:        []map[string][]string{{s.scheme: {}}},
		BodyReadTimeout: bodyTimeout,
	}
}
