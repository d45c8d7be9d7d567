package authhttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"lessonkit.example/auth"
	"lessonkit.example/internal/httpapi"
)

// notConfiguredRetry is how long clients should wait for a server without its configuration:
// nothing changes until somebody restarts it.
const notConfiguredRetry = time.Minute

func notConfigured() *httpapi.Problem {
	return problem(http.StatusServiceUnavailable, "database_not_configured",
		"This server has no database configured.").WithRetryAfter(notConfiguredRetry)
}

// problem returns a problem that is not cached.
func problem(status int, code, detail string) *httpapi.Problem {
	return httpapi.Error(status, code, detail).WithHeader("Cache-Control", "no-store")
}

// refusal returns the answer to an error of an auth.Service or of authenticate. The service has
// logged a fault already, and the platform's own text, which is never in an answer.
func refusal(err error) *httpapi.Problem {
	if p, ok := errors.AsType[*httpapi.Problem](err); ok { // of Authenticate
		return p
	}
	switch {
	case errors.Is(err, errNoToken):
		return problem(http.StatusUnauthorized, "token_missing",
			"Sign in: the request has no session token. It is sent as Authorization: Bearer, "+
				"or in the cookie that a sign-in sets.").
			WithHeader("WWW-Authenticate", "Bearer")
	case errors.Is(err, errDevelopmentName):
		return problem(http.StatusUnauthorized, "token_invalid", "The name in "+DevelopmentHeader+
			" is not valid: use 1 to 64 letters A-Z and a-z, digits and the characters . _ @ + -").
			WithHeader("WWW-Authenticate", `Bearer error="invalid_token"`)
	case errors.Is(err, auth.ErrInvalidToken):
		return problem(http.StatusUnauthorized, "token_invalid",
			"The session token is not valid or no longer valid. Sign in again.").
			WithHeader("WWW-Authenticate", `Bearer error="invalid_token"`)
	case errors.Is(err, auth.ErrDeviceCode):
		return problem(http.StatusUnauthorized, "device_code_invalid",
			"The sign-in has expired or was used before. Start another.").WithHeader("WWW-Authenticate", "Bearer")
	case errors.Is(err, auth.ErrNoSession):
		return problem(http.StatusNotFound, "session_not_found", "There is no such session of this user.")
	case errors.Is(err, auth.ErrUnavailable):
		return problem(http.StatusServiceUnavailable, "database_unavailable",
			"The database is not available at the moment.").WithRetryAfter(retryAfter(err))
	case errors.Is(err, auth.ErrCodeMissing):
		return problem(http.StatusBadRequest, "login_code_missing", "The login code is missing.")
	case errors.Is(err, auth.ErrCodeRejected):
		return problem(http.StatusUnauthorized, "login_code_invalid",
			"The login code is not valid, expired or was used before. Get a new one and try again.").
			WithHeader("WWW-Authenticate", "Bearer")
	case errors.Is(err, auth.ErrBlocked):
		return problem(http.StatusForbidden, "login_blocked", "The platform does not let this user sign in.")
	case errors.Is(err, auth.ErrRateLimited):
		return problem(http.StatusTooManyRequests, "login_rate_limited", "Too many sign-ins. Try again later.").
			WithRetryAfter(retryAfter(err))
	case errors.Is(err, auth.ErrPlatformBusy):
		return problem(http.StatusServiceUnavailable, "login_upstream_error",
			"The platform is busy. Get a new login code and try again.").WithRetryAfter(retryAfter(err))
	case errors.Is(err, auth.ErrPlatformTimeout):
		return problem(http.StatusGatewayTimeout, "login_upstream_error",
			"The platform did not answer in time. Get a new login code and try again.")
	case errors.Is(err, auth.ErrPlatform):
		return problem(http.StatusBadGateway, "login_upstream_error",
			"The platform did not give a valid answer. Get a new login code and try again.")
	case errors.Is(err, auth.ErrMisconfigured):
		return problem(http.StatusServiceUnavailable, "login_unavailable", "Sign-in does not work at the moment.").
			WithRetryAfter(notConfiguredRetry)
	case errors.Is(err, auth.ErrNotConfigured):
		return problem(http.StatusServiceUnavailable, "login_not_configured",
			"Sign-in is not configured on this server.").WithRetryAfter(notConfiguredRetry)
	case errors.Is(err, context.Canceled): // by the client, or by a server that stops
		return problem(http.StatusServiceUnavailable, "request_canceled",
			"The request was canceled before it was done.").WithRetryAfter(time.Second)
	}
	return problem(http.StatusInternalServerError, "internal_error", "Something went wrong here.")
}

// eraseRefusal returns the answer to an error of Config.Erase.
func eraseRefusal(err error) *httpapi.Problem {
	if wait := retryAfter(err); wait > 0 {
		return problem(http.StatusServiceUnavailable, "erase_unavailable",
			"The data cannot be deleted at the moment. Try again.").WithRetryAfter(wait).WithCause(err)
	}
	return problem(http.StatusInternalServerError, "internal_error", "Something went wrong here.").WithCause(err)
}

// Refuse answers r with the problem document of an error of an [auth.Service] or of [Authenticate],
// of a sign-in too: status, stable code and headers are those that the operations of this package
// answer with. The text of err is not in the answer. [auth.ErrDevicePending] is nothing to refuse.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	httpapi.WriteError(w, r, refusal(err))
}

// retryAfter returns how long err tells to wait, or 0.
func retryAfter(err error) time.Duration {
	var e interface{ RetryAfter() time.Duration }
	if errors.As(err, &e) {
		return e.RetryAfter()
	}
	return 0
}
