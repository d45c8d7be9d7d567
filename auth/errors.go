package auth

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Errors of [Service.Authenticate].
var (
	// ErrInvalidToken means that the credentials are not valid. It is the same for malformed,
	// unknown, expired and revoked tokens, so that an answer does not reveal which of these a
	// token is.
	ErrInvalidToken = errors.New("session token is not valid")

	// ErrUnavailable means that the store cannot be reached at the moment; errors that match it
	// come from [Unavailable].
	ErrUnavailable = errors.New("session store is not available")
)

// Errors of [Service.Login]. An [Exchanger] wraps them in an [ExchangeError].
var (
	// ErrCodeMissing means that the code is empty.
	ErrCodeMissing = errors.New("login code is missing")

	// ErrCodeRejected means that the code is malformed, unknown, expired or was used before. The
	// client gets a new code from its platform and tries again.
	ErrCodeRejected = errors.New("login code is not valid")

	// ErrBlocked means that the platform does not let this user sign in.
	ErrBlocked = errors.New("platform blocks this user")

	// ErrRateLimited means that there are too many logins for the platform or for this server.
	ErrRateLimited = errors.New("too many logins")

	// ErrPlatformBusy means that the platform reports that it is busy.
	ErrPlatformBusy = errors.New("platform is busy")

	// ErrPlatform means that the platform could not be reached, or that its answer is invalid.
	ErrPlatform = errors.New("platform did not give a valid answer")

	// ErrPlatformTimeout means that the platform did not answer in time.
	ErrPlatformTimeout = errors.New("platform did not answer in time")

	// ErrMisconfigured means that the platform refuses this program: its app id, its secret or its
	// network address. No user can sign in until an operator corrects that.
	ErrMisconfigured = errors.New("platform refuses this program's credentials")

	// ErrNotConfigured means that the [Service] has no [Exchanger].
	ErrNotConfigured = errors.New("sign-in is not configured")
)

// ErrNoUser is returned by a [Store] if no user has the given identifier.
var ErrNoUser = errors.New("no such user")

// ErrNoSession is returned by a [Store] if no session has the given hash.
var ErrNoSession = errors.New("no such session")

// ExchangeError is a failed exchange of a login code. It contains no secret, no login code and no
// user identifier, so it may be logged; it is not meant for the user who signs in.
type ExchangeError struct {
	// Kind is one of the sentinels from [ErrCodeMissing] to [ErrMisconfigured]. Defaults to
	// ErrPlatform.
	Kind error

	// PlatformCode is the platform's own error code, or "".
	PlatformCode string

	// Message is the platform's own text, or describes what is wrong with its answer.
	Message string

	// After is how long to wait before the next try; 0 if unknown.
	After time.Duration

	// Err is the underlying error, or nil. It must not contain the request's URL or body, which
	// carry the secret.
	Err error
}

// Error implements error.
func (e *ExchangeError) Error() string {
	text := "exchange login code: " + e.kind().Error()
	if e.PlatformCode != "" {
		text += " (platform code " + e.PlatformCode + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *ExchangeError) kind() error { return cmp.Or(e.Kind, ErrPlatform) }

// Unwrap returns the kind and the underlying error.
func (e *ExchangeError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.kind()}
	}
	return []error{e.kind(), e.Err}
}

// Permanent reports whether another code would fail too.
func (e *ExchangeError) Permanent() bool {
	return errors.Is(e.Kind, ErrBlocked) || errors.Is(e.Kind, ErrMisconfigured)
}

// RetryAfter returns how long to wait before the next try; 0 if unknown.
func (e *ExchangeError) RetryAfter() time.Duration { return e.After }

// storeDownRetry is how long clients should wait while the store is down: long enough for a
// failover to finish, short enough to go unnoticed after it.
const storeDownRetry = 5 * time.Second

type unavailableError struct{ cause error }

// Unavailable wraps an error by which a [Store] reports that its engine is down, unreachable, not
// migrated or out of space. The result matches [ErrUnavailable], is not Permanent() and has a
// RetryAfter() > 0; clients are answered 503 instead of 401, so that none discards a valid token.
// Unavailable(nil) is nil.
func Unavailable(cause error) error {
	if cause == nil {
		return nil
	}
	return &unavailableError{cause}
}

func (e *unavailableError) Error() string             { return fmt.Sprintf("%v: %v", ErrUnavailable, e.cause) }
func (e *unavailableError) Unwrap() []error           { return []error{ErrUnavailable, e.cause} }
func (e *unavailableError) Permanent() bool           { return false }
func (e *unavailableError) RetryAfter() time.Duration { return storeDownRetry }
