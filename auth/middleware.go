package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

type contextKey struct{}

// WithPrincipal returns a context in which [TeacherID] and [PrincipalFrom] find
// p. Middleware uses it; so do tests of handlers, and transports other than HTTP.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// PrincipalFrom returns who sends the request that ctx belongs to, and false
// where no Middleware let it in.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(contextKey{}).(Principal)
	return p, ok
}

// TeacherID returns which teacher sends the request that ctx belongs to, and
// false where no Middleware let it in.
func TeacherID(ctx context.Context) (uuid.UUID, bool) {
	p, ok := PrincipalFrom(ctx)
	return p.TeacherID, ok
}

// Middleware passes on the requests that Authenticate lets in, with the teacher
// in their context, and answers the others by [WriteError].
func (s *Service) Middleware(next http.Handler) http.Handler {
	return s.MiddlewareFunc(WriteError)(next)
}

// MiddlewareFunc is Middleware with an answer of the caller's own, such as
// [RefusalOf] in the form that all errors of a program have.
func (s *Service) MiddlewareFunc(respond func(w http.ResponseWriter, r *http.Request, err error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, err := s.Authenticate(r)
			if err != nil {
				respond(w, r, err)
				return
			}
			next.ServeHTTP(w, r.WithContext(WithPrincipal(r.Context(), p)))
		})
	}
}

// Refusal is what to tell a client whose request was not let in.
type Refusal struct {
	Status int    // the HTTP status
	Code   string // a stable word that a program can switch on
	Detail string // one sentence for people; holds nothing secret

	// WWWAuthenticate is the value of the header of that name, by RFC 6750
	// section 3; "" for none.
	WWWAuthenticate string

	// RetryAfter is the value of the header of that name, rounded up to whole
	// seconds there; 0 for none.
	RetryAfter time.Duration
}

// RefusalOf says what an error of Authenticate means to the client: 401 without
// credentials that are good, 503 while the store is away or when the request
// was canceled (as those are that a server has no time for when it stops), else
// 500. The service has logged the cause.
func RefusalOf(err error) Refusal {
	var later interface{ RetryAfter() time.Duration }
	switch {
	case errors.Is(err, ErrNoToken):
		return Refusal{Status: http.StatusUnauthorized, Code: "token_missing",
			Detail: "Sign in, and send the session token as Authorization: Bearer.", WWWAuthenticate: "Bearer"}
	case errors.Is(err, ErrInvalidToken):
		return Refusal{Status: http.StatusUnauthorized, Code: "token_invalid",
			Detail: "The session token is not valid or no longer valid. Sign in again.", WWWAuthenticate: `Bearer error="invalid_token"`}
	case errors.As(err, &later) && later.RetryAfter() > 0:
		return Refusal{Status: http.StatusServiceUnavailable, Code: "database_unavailable",
			Detail: "The database is not available at the moment.", RetryAfter: later.RetryAfter()}
	case errors.Is(err, context.Canceled):
		return Refusal{Status: http.StatusServiceUnavailable, Code: "request_canceled",
			Detail: "The request was canceled before it was done.", RetryAfter: time.Second}
	}
	return Refusal{Status: http.StatusInternalServerError, Code: "internal_error", Detail: "Something went wrong here."}
}

// WriteError answers a request that was not let in with an RFC 9457 problem
// document made of [RefusalOf].
func WriteError(w http.ResponseWriter, _ *http.Request, err error) {
	refusal := RefusalOf(err)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if refusal.WWWAuthenticate != "" {
		h.Set("WWW-Authenticate", refusal.WWWAuthenticate)
	}
	if refusal.RetryAfter > 0 {
		h.Set("Retry-After", RetryAfterSeconds(refusal.RetryAfter))
	}
	w.WriteHeader(refusal.Status)
	_ = json.NewEncoder(w).Encode(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Code   string `json:"code"`
	}{"about:blank", http.StatusText(refusal.Status), refusal.Status, refusal.Detail, refusal.Code})
}

// RetryAfterSeconds is d as the value of a Retry-After header: whole seconds,
// rounded up, at least 1.
func RetryAfterSeconds(d time.Duration) string {
	return strconv.FormatInt(int64(max((d+time.Second-1)/time.Second, 1)), 10)
}
