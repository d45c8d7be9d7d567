package authhttp

import (
	"errors"
	"net/http"
	"time"

	"lessonkit.example/auth"
	"lessonkit.example/internal/httpapi"
)

// notConfiguredRetry is how long a client should stay away from a server that
// lacks its configuration: nothing changes until somebody restarts it.
const notConfiguredRetry = time.Minute

func notConfigured() *httpapi.Problem {
	return problem(http.StatusServiceUnavailable, "database_not_configured", "This server has no database configured.").
		WithRetryAfter(notConfiguredRetry)
}

// problem is a problem that no cache keeps.
func problem(status int, code, detail string) *httpapi.Problem {
	return httpapi.Error(status, code, detail).WithHeader("Cache-Control", "no-store")
}

// refusal is the answer to a request that was not let in. The service has
// logged the cause, where it is a fault.
func refusal(err error) *httpapi.Problem {
	r := auth.RefusalOf(err)
	p := problem(r.Status, r.Code, r.Detail)
	if r.WWWAuthenticate != "" {
		p.WithHeader("WWW-Authenticate", r.WWWAuthenticate)
	}
	if r.RetryAfter > 0 {
		p.WithRetryAfter(r.RetryAfter)
	}
	return p
}

// loginRefusal is the answer to a sign-in that failed. What the platform said
// is in the service's log and nowhere in the answer.
func loginRefusal(err error) *httpapi.Problem {
	var after interface{ RetryAfter() time.Duration }
	wait := time.Duration(0)
	if errors.As(err, &after) {
		wait = after.RetryAfter()
	}
	switch {
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
			WithRetryAfter(max(wait, time.Second))
	case errors.Is(err, auth.ErrPlatformBusy):
		return problem(http.StatusServiceUnavailable, "login_upstream_error",
			"The platform is busy. Get a new login code and try again.").WithRetryAfter(max(wait, time.Second))
	case errors.Is(err, auth.ErrPlatformTimeout):
		return problem(http.StatusGatewayTimeout, "login_upstream_error",
			"The platform did not answer in time. Get a new login code and try again.")
	case errors.Is(err, auth.ErrPlatform):
		return problem(http.StatusBadGateway, "login_upstream_error",
			"The platform did not answer sensibly. Get a new login code and try again.")
	case errors.Is(err, auth.ErrMisconfigured):
		return problem(http.StatusServiceUnavailable, "login_unavailable", "Sign-in does not work at the moment.").
			WithRetryAfter(notConfiguredRetry)
	case errors.Is(err, auth.ErrNotConfigured):
		return problem(http.StatusServiceUnavailable, "login_not_configured", "Sign-in is not configured on this server.").
			WithRetryAfter(notConfiguredRetry)
	}
	return refusal(err) // the store's faults
}
