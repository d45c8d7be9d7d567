package auth

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// TokenHash is the SHA-256 of a session token. It identifies a session in a [Store].
type TokenHash [32]byte

// Session is a stored sign-in of one user.
type Session struct {
	UserID    uuid.UUID
	TokenHash TokenHash
	Device    string // the name of what was signed in, or ""
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewSession is the input of [Store].CreateSession.
type NewSession struct {
	Identity  Identity
	TokenHash TokenHash
	Device    string // not of CreateDeviceSession, which knows it
	CreatedAt time.Time
	ExpiresAt time.Time

	// Replaces is the hash of a token that this sign-in replaces, or zero.
	Replaces TokenHash

	// MaxSessions is how many sessions the user may have after the sign-in; 0 means no limit.
	MaxSessions int
}

// Store keeps users and their sessions. Package sqlstore implements it for PostgreSQL and
// SQLite.
//
// All times are UTC with microsecond precision and are returned as they were given. A Store has no
// clock: the [Service] alone decides what is expired, and passes every time in. It caches nothing:
// once DeleteSession has returned, no Session call on any node finds the session.
//
// Every method is safe for concurrent use, returns ctx's error when ctx ends, and returns an error
// made by [Unavailable] if the engine cannot be reached. A method that fails has changed nothing.
type Store interface {
	// User returns the user with the given identity, creating it at the given time if there
	// is none. Concurrent calls return the same user.
	User(ctx context.Context, id Identity, now time.Time) (uuid.UUID, error)

	// Identity returns the identity of a user, with the UnionID that was given last, or
	// [ErrNoUser].
	Identity(ctx context.Context, userID uuid.UUID) (Identity, error)

	// CreateSession signs an identity in, atomically: it finds or creates the user (updating
	// UnionID if one is given), deletes the session Replaces if it is the same user's, stores
	// the new session, and deletes the user's oldest sessions beyond MaxSessions, never the new
	// one. Concurrent first sign-ins of one identity create one user and keep to the limit. A
	// hash that exists already is an error.
	CreateSession(ctx context.Context, n NewSession) (uuid.UUID, error)

	// Session returns the session with the given hash, expired or not, or [ErrNoSession]. It
	// writes nothing.
	Session(ctx context.Context, hash TokenHash) (Session, error)

	// Sessions returns the sessions of a user that have not expired, newest first.
	Sessions(ctx context.Context, userID uuid.UUID, now time.Time) ([]Session, error)

	// CreateDevice stores a device, after deleting those that have expired when it was created.
	// It fails with [ErrRateLimited] if about limit devices are stored. A code that is another's is
	// an error.
	CreateDevice(ctx context.Context, n NewDevice, limit int) error

	// Device returns the device with a code that is neither expired nor confirmed, or
	// [ErrDeviceCode].
	Device(ctx context.Context, code string, now time.Time) (Device, error)

	// ConfirmDevice makes a device that is neither expired nor confirmed the user's, or fails with
	// [ErrDeviceCode]. Of concurrent calls one succeeds.
	ConfirmDevice(ctx context.Context, code string, userID uuid.UUID, now time.Time) error

	// CreateDeviceSession deletes the device with the given hash and stores a session of the user
	// who has confirmed it, atomically, as CreateSession does; Identity and Replaces are not used.
	// It fails with [ErrDevicePending] if nobody has confirmed it, and with [ErrDeviceCode] if it
	// does not exist or has expired at n.CreatedAt. Of concurrent calls one succeeds.
	CreateDeviceSession(ctx context.Context, secret TokenHash, n NewSession) (uuid.UUID, error)

	// DeleteSession deletes a session. Deleting one that does not exist is not an error.
	DeleteSession(ctx context.Context, hash TokenHash) error

	// DeleteSessions deletes all sessions of a user and the devices that the user has confirmed,
	// atomically. A CreateDeviceSession at the same time fails, or its session is deleted too.
	DeleteSessions(ctx context.Context, userID uuid.UUID) error

	// DeleteUser deletes a user and all its sessions. Deleting one that does not exist is not
	// an error. The next sign-in with the same identity creates another user.
	DeleteUser(ctx context.Context, userID uuid.UUID) error

	// DeleteExpired deletes at most limit sessions whose ExpiresAt is at or before now, and
	// returns how many it deleted. It deletes all such devices too, which do not count.
	DeleteExpired(ctx context.Context, now time.Time, limit int) (int, error)
}
