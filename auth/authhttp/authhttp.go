// Package authhttp is the HTTP interface of package auth: sign-in, the signed-in teacher, sign-out.
// [Register] adds the operations to a Huma API, [Handler] returns a complete http.Handler.
// [Middleware] and [Authenticate] identify the sender of requests to other handlers.
//
// Errors are RFC 9457 problem documents with a stable "code". Without an [auth.Service] every
// operation answers 503: a server can start before its database is configured.
package authhttp

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"

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
	// platform or the store. An IPv6 client is identified by its /64 network. They default to 20
	// and 50; a negative LoginsPerMinute sets no limit. Each process counts for itself.
	LoginsPerMinute int
	LoginBurst      int

	// TrustedProxies are the networks whose X-Forwarded-For header is trusted. If empty, the
	// client is the peer of the connection. A server behind a proxy needs it, or all its clients
	// share one limit.
	TrustedProxies []netip.Prefix

	// SecurityScheme is the name of the bearer scheme in the OpenAPI document. Defaults to
	// "bearer".
	SecurityScheme string

	// Now is the clock of the rate limit. If nil, time.Now.
	Now func() time.Time

	// Logger receives a line for each request to [Handler]. If nil, nothing is logged.
	Logger *slog.Logger
}

// Handler serves the interface below /api/v1, and its OpenAPI document at /openapi.json.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	api := httpapi.New(mux, httpapi.Options{Title: "Sign-in", Version: "1", BearerScheme: c.SecurityScheme})
	Register(huma.NewGroup(api, "/api/v1"), c)
	return httpapi.Wrap(mux, httpapi.WrapOptions{Logger: c.Logger, TrustedProxies: c.TrustedProxies})
}
