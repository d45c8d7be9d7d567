package auth

import (
	"errors"
	"fmt"
	"time"
)

// Why a request is not let in.
var (
	// ErrNoToken means that the request presents no credentials at all.
	ErrNoToken = errors.New("no session token")

	// ErrInvalidToken means that the presented credentials are not good. It is
	// the same for malformed, unknown, expired and revoked tokens, so that an
	// answer tells nobody which of these a token is.
	ErrInvalidToken = errors.New("session token is not valid")

	// ErrUnavailable means that the store cannot be asked at the moment; errors
	// that match it come from [Unavailable].
	ErrUnavailable = errors.New("session store is not available")
)

// Why a login code was not exchanged. An [Exchanger] wraps each in an
// [ExchangeError].
var (
	// ErrCodeMissing means that the code is empty.
	ErrCodeMissing = errors.New("login code is missing")

	// ErrCodeRejected means that the code is malformed, unknown, expired or was
	// used before. The client gets a new code from its platform and tries again.
	ErrCodeRejected = errors.New("login code is not valid")

	// ErrBlocked means that the platform does not let this user sign in.
	ErrBlocked = errors.New("platform blocks this user")

	// ErrRateLimited means that there are too many logins for the platform, or for this server.
	ErrRateLimited = errors.New("too many logins")

	// ErrPlatformBusy means that the platform says that it is busy.
	ErrPlatformBusy = errors.New("platform is busy")

	// ErrPlatform means that the platform could not be reached, or that its
	// answer makes no sense.
	ErrPlatform = errors.New("platform did not answer sensibly")

	// ErrPlatformTimeout means that the platform did not answer in time.
	ErrPlatformTimeout = errors.New("platform did not answer in time")

	// ErrMisconfigured means that the platform refuses this program: its app id,
	// its secret or its network address. No user can sign in until an operator
	// sets that right.
	ErrMisconfigured = errors.New("platform refuses this program's credentials")

	// ErrNotConfigured means that the [Service] has no [Exchanger].
	ErrNotConfigured = errors.New("sign-in is not configured")
)

// ErrNoTeacher is what a [Store] answers when no teacher has the given
// identifier.
var ErrNoTeacher = errors.New("no such teacher")

// ErrNoSession is what a [Store] answers when no session has the given hash.
var ErrNoSession = errors.New("no such session")

// ExchangeError says how a platform turned a login code down. It holds no
// secret, no login code and no user identifier, so it may be logged; it is not
// meant for the user who signs in.
type ExchangeError struct {
	// Kind is one of the sentinels above, from ErrCodeMissing to
	// ErrMisconfigured. It decides what the client is told.
	Kind error

	// PlatformCode is the platform's own error code, "" when there is none.
	PlatformCode string

	// Message is the platform's own text, or says what was wrong with its answer.
	Message string

	// After is how long to wait before the next try; 0 when unknown.
	After time.Duration

	// Err is the underlying fault, nil when there is none. It must not hold the
	// request's URL or body: those carry the secret.
	Err error
}

// Error implements error.
func (e *ExchangeError) Error() string {
	text := "exchange login code: " + e.Kind.Error()
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

// Unwrap lets errors.Is find both the kind and the cause.
func (e *ExchangeError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Permanent reports whether trying again with another code cannot help either.
func (e *ExchangeError) Permanent() bool {
	return errors.Is(e.Kind, ErrBlocked) || errors.Is(e.Kind, ErrMisconfigured)
}

// RetryAfter is how long to wait before the next try; 0 when unknown.
func (e *ExchangeError) RetryAfter() time.Duration { return e.After }

// storeDownRetry is how long a client should stay away when the store is down:
// long enough for a failover to finish, short enough not to be noticed after it.
const storeDownRetry = 5 * time.Second

type unavailableError struct{ cause error }

// Unavailable wraps what a [Store] got from an engine that is down, out of
// reach, not migrated or out of room, as opposed to an engine that answered.
// The result matches [ErrUnavailable] and has RetryAfter() > 0; clients get 503
// for it instead of 401, so that no client throws a good token away.
// Unavailable(nil) is nil.
func Unavailable(cause error) error {
	if cause == nil {
		return nil
	}
	return &unavailableError{cause}
}

func (e *unavailableError) Error() string             { return fmt.Sprintf("%v: %v", ErrUnavailable, e.cause) }
func (e *unavailableError) Unwrap() []error           { return []error{ErrUnavailable, e.cause} }
func (e *unavailableError) RetryAfter() time.Duration { return storeDownRetry }
