// Package authhttp is the HTTP interface of package auth: sign-in, who am I,
// sign-out. [Register] adds it to a Huma API, [Handler] is a plain
// [http.Handler] of its own, and [Middleware] guards the handlers of other
// packages.
//
// Errors are RFC 9457 problem documents with a stable code each. Without a
// [auth.Service], for want of a database say, every operation answers 503.
package authhttp

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/auth"
	"lessonkit.example/internal/httpapi"
)

// Config says how the interface works. The zero Config is valid and answers
// 503 to everything.
type Config struct {
	// Service does the work. If nil, every operation answers 503
	// database_not_configured.
	Service *auth.Service

	// LoginsPerMinute is how many sign-ins a client address may try each minute
	// in the long run, LoginBurst how many at once. An IPv6 client counts by its
	// /64 network. Default to 20 and 10; a negative LoginsPerMinute sets no limit.
	LoginsPerMinute int
	LoginBurst      int

	// TrustedProxies are the networks whose X-Forwarded-For header is believed.
	// If empty, nobody's: the client is whoever opened the connection. A server
	// behind a proxy needs it, or all its clients share one limit.
	TrustedProxies []netip.Prefix

	// SecurityScheme is the name of the bearer scheme in the OpenAPI document.
	// Defaults to "bearer".
	SecurityScheme string

	// Now is the clock of the rate limit. If nil, time.Now.
	Now func() time.Time

	// Logger takes a line for each request to Handler. If nil, nothing is logged.
	Logger *slog.Logger
}

// Handler serves the interface below /api/v1, and its OpenAPI document at
// /openapi.json.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	api := httpapi.New(mux, httpapi.Options{Title: "Sign-in", Version: "1", BearerScheme: c.SecurityScheme})
	Register(huma.NewGroup(api, "/api/v1"), c)
	return httpapi.Wrap(mux, httpapi.WrapOptions{Logger: c.Logger})
}

// Authenticate returns a function that identifies the teacher who sends a request, as handlers of
// other packages take it in their configuration. Its errors are answers to the request: problem
// documents with status 401, 500 or 503, which implement [huma.StatusError]. Their method
// Permanent() bool is true for 401. With a nil service every call fails with 503
// database_not_configured.
func Authenticate(s *auth.Service) func(context.Context, http.Header) (uuid.UUID, error) {
	return func(ctx context.Context, header http.Header) (uuid.UUID, error) {
		if s == nil {
			return uuid.Nil, notConfigured()
		}
		p, err := s.AuthenticateHeader(ctx, header)
		if err != nil {
			return uuid.Nil, refusal(err)
		}
		return p.TeacherID, nil
	}
}

// Middleware passes on requests of signed-in teachers, whom [auth.TeacherID]
// then finds in the context, and answers the others with a problem document:
// 401, or 503 while the database is away. With a nil service it answers 503
// database_not_configured to all.
func Middleware(s *auth.Service) func(http.Handler) http.Handler {
	if s == nil {
		return func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				httpapi.WriteProblem(w, r, notConfigured())
			})
		}
	}
	guard := s.MiddlewareFunc(func(w http.ResponseWriter, r *http.Request, err error) {
		httpapi.WriteProblem(w, r, refusal(err))
	})
	return func(next http.Handler) http.Handler {
		return guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			annotate(r.Context())
			next.ServeHTTP(w, r)
		}))
	}
}

// annotate puts the teacher into the request's line in the log.
func annotate(ctx context.Context) {
	if id, ok := auth.TeacherID(ctx); ok {
		httpapi.Annotate(ctx, slog.String("teacher_id", id.String()))
	}
}
