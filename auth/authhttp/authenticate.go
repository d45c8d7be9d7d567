package authhttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"lessonkit.example/auth"
	"lessonkit.example/internal/httpapi"
)

// DevelopmentHeader is the request header that names a user for
// [auth.Service.AuthenticateDevelopment], where that is on. A bearer token takes precedence over
// it, valid or not.
const DevelopmentHeader = "X-Development-User"

// errNoToken means that a request has no credentials.
var errNoToken = errors.New("no session token")

// errDevelopmentName means that the development header contains an invalid name.
var errDevelopmentName = errors.New("invalid name of a development user")

// authenticate identifies the sender of a request. The keys of h are in canonical form.
func authenticate(ctx context.Context, s *auth.Service, h http.Header) (auth.Principal, error) {
	names := h[DevelopmentHeader]
	token, err := bearerToken(h)
	switch {
	case err == nil:
		return s.Authenticate(ctx, token)
	case !errors.Is(err, errNoToken) || len(names) == 0 || !s.DevelopmentEnabled():
		return auth.Principal{}, err
	case len(names) > 1:
		return auth.Principal{}, fmt.Errorf("%w: more than one %s header", auth.ErrInvalidToken, DevelopmentHeader)
	}
	p, err := s.AuthenticateDevelopment(ctx, names[0])
	if errors.Is(err, auth.ErrInvalidToken) { // the name is the only thing that can be wrong with it
		err = errors.Join(errDevelopmentName, err)
	}
	return p, err
}

// bearerToken returns the token of the Authorization header by RFC 6750 section 2.1. It fails with
// errNoToken without such a header, with another scheme or with an empty token, and with
// [auth.ErrInvalidToken] if the request is ambiguous. Tokens in query strings and forms are
// ignored, because servers log those.
func bearerToken(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) == 0 {
		return "", errNoToken
	}
	if len(values) > 1 {
		return "", fmt.Errorf("%w: more than one Authorization header", auth.ErrInvalidToken)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	// Clients with an empty field for the token send the scheme alone.
	if !strings.EqualFold(scheme, "Bearer") || strings.TrimSpace(token) == "" {
		return "", errNoToken
	}
	return token, nil
}

// Authenticate returns a function that identifies the user who sends a request, in the form that
// handlers of other packages take in their configuration.
//
// Its errors are answers to the request: problem documents with status 401, 500 or 503, as
// [Middleware] sends them, which implement huma.StatusError and huma.HeadersError. Their method
// Permanent() bool returns true for 401 only. With a nil service every call fails with 503
// database_not_configured.
func Authenticate(s *auth.Service) func(context.Context, http.Header) (uuid.UUID, error) {
	return func(ctx context.Context, header http.Header) (uuid.UUID, error) {
		if s == nil {
			return uuid.Nil, notConfigured()
		}
		p, err := authenticate(ctx, s, header)
		if err != nil {
			return uuid.Nil, refusal(err)
		}
		return p.UserID, nil
	}
}

// Middleware passes on requests of signed-in users, whom [UserID] then returns, and answers
// all others with a problem document: 401, or 503 while the database is unavailable. With a nil
// service it answers 503 database_not_configured to all.
func Middleware(s *auth.Service) func(http.Handler) http.Handler {
	identify := Authenticate(s)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, err := identify(r.Context(), r.Header)
			if err != nil {
				httpapi.WriteError(w, r, err)
				return
			}
			annotate(r.Context(), user)
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
		})
	}
}

type userKey struct{}

// UserID returns the user who sends the request that ctx belongs to, and false if the request
// did not pass [Middleware].
func UserID(ctx context.Context) (uuid.UUID, bool) {
	id, ok := ctx.Value(userKey{}).(uuid.UUID)
	return id, ok
}

// annotate adds the user to the request's line in the log.
func annotate(ctx context.Context, user uuid.UUID) {
	httpapi.Annotate(ctx, slog.String("teacher_id", user.String()))
}
