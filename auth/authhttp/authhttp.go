// Package authhttp is the HTTP interface of package auth: sign-in, the signed-in user, sign-out.
// [Register] adds the operations to a Huma API, [Handler] returns a complete http.Handler.
// [Middleware] and [Authenticate] identify the sender of requests to other handlers. A [Cookie]
// keeps the tokens of browsers; other clients send theirs as bearer tokens. [Refuse] answers with
// any error of an [auth.Service], for programs that call it themselves. An
// [OAuth] signs browsers in at an OAuth 2 server.
//
//	http.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{Service: service}))
//	http.Handle("/", authhttp.Middleware(service)(page)) // page calls authhttp.UserID
//
// Errors are RFC 9457 problem documents with a stable "code". Without an [auth.Service] every
// operation answers 503: a server can start before its database is configured. Answers and log
// lines call the id of the user teacher_id, as those of package feedback do.
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

// Config configures the interface. The zero Config is valid and answers 503 to every request.
type Config struct {
	// Service signs in and authenticates. If nil, no database is configured and every operation
	// answers 503 with the code database_not_configured.
	Service *auth.Service

	// LoginsPerMinute is how many sign-ins of a client address may fail each minute in the long
	// run, LoginBurst how many may fail or be in progress at once. Sign-ins that succeed do not
	// count, so that a school behind one address is not locked out; neither do faults of the
	// platform or the store. An IPv6 client is identified by its /64 network, and its /48 network
	// has ten times the limit. They default to 20 and 50; a negative LoginsPerMinute sets no limit.
	// Each process counts for itself.
	LoginsPerMinute int
	LoginBurst      int

	// Erase deletes everything that the program keeps of a user, before DELETE /auth/me deletes
	// the user. It may be called again for the same user. If an error of it has a method
	// RetryAfter() time.Duration that returns more than 0, the answer is 503, else 500. May be nil.
	Erase func(ctx context.Context, user uuid.UUID) error

	// TrustedProxies are the networks whose X-Forwarded-For header is trusted. If empty, the
	// client is the peer of the connection. A server behind a proxy needs it, or all its clients
	// share one limit.
	TrustedProxies []netip.Prefix

	// Cookie keeps the tokens that browsers get by Devices and OAuth, which need it; the sign-outs
	// delete it. Handler applies Cookie.Handler; callers of Register do that themselves.
	Cookie *Cookie

	// Devices adds the sign-in of pages by a code that a signed-in user confirms (RFC 8628), and
	// the list of sessions. Each client address may start as many sign-ins as may fail.
	Devices bool

	// OAuth, if not nil, takes the place of the sign-in with a code: browsers sign in at a server
	// of OAuth 2.
	OAuth *OAuth

	// Now is the clock of the rate limit. If nil, time.Now.
	Now func() time.Time

	// Logger receives a line for each request to [Handler]. If nil, nothing is logged.
	Logger *slog.Logger
}

// Handler serves the interface below /api/v1, and its OpenAPI document at /openapi.json.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	api := httpapi.New(mux, httpapi.Options{Title: "Sign-in", Version: "1"})
	Register(huma.NewGroup(api, "/api/v1"), c)
	var handler http.Handler = mux
	if c.Cookie != nil {
		handler = c.Cookie.Handler(mux)
	}
	return httpapi.Wrap(handler, httpapi.WrapOptions{Logger: c.Logger, TrustedProxies: c.TrustedProxies})
}
