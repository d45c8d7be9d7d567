package auth

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// TokenHash is the SHA-256 of a session token. It identifies a session in a
// [Store]; the token cannot be had from it, so a copy of the database signs
// nobody in.
type TokenHash [32]byte

// Session is a stored sign-in of one teacher.
type Session struct {
	TeacherID uuid.UUID

	CreatedAt time.Time
	ExpiresAt time.Time

	// LastUsedAt is when the session was last seen, exact to
	// [Config.LastUsedInterval].
	LastUsedAt time.Time
}

// NewSession is what a [Store] needs to sign somebody in.
type NewSession struct {
	Identity  Identity
	TokenHash TokenHash

	// CreatedAt is the time of the sign-in; the session's CreatedAt and LastUsedAt.
	CreatedAt time.Time
	ExpiresAt time.Time

	// Replaces, unless zero, is the hash of a token that this sign-in replaces.
	Replaces TokenHash

	// MaxSessions is how many sessions the teacher may have after the sign-in;
	// 0 means any number.
	MaxSessions int
}

// LastUse says when a session was last used.
type LastUse struct {
	TokenHash TokenHash
	At        time.Time
}

// Store keeps teachers and their sessions. Package sqlstore has one for
// PostgreSQL and SQLite, package authtest a conformance suite for any other.
//
// All times are UTC with microsecond precision and come back as they were
// given. A Store has no clock: what is expired is decided by the [Service]
// alone, which passes every time in. It caches nothing: once DeleteSession has
// returned, no Session call on any node finds the session.
//
// Every method is safe for concurrent use, returns ctx's error when ctx ends,
// and returns an error made by [Unavailable] when the engine cannot be asked.
// A method that fails has changed nothing, but for MarkUsed, which may have
// marked some.
type Store interface {
	// Teacher returns the teacher with the given identity, and makes one at the
	// given time where there is none. Concurrent calls agree on one teacher.
	Teacher(ctx context.Context, id Identity, now time.Time) (uuid.UUID, error)

	// Identity returns the identity of a teacher, with the UnionID that was given
	// last, and [ErrNoTeacher] where there is none.
	Identity(ctx context.Context, teacherID uuid.UUID) (Identity, error)

	// CreateSession signs an identity in, all or nothing: it finds or makes the
	// teacher (remembering UnionID when one is given), deletes the session
	// Replaces when it is the same teacher's, stores the new session, and deletes
	// the teacher's oldest sessions beyond MaxSessions, never the new one.
	// Concurrent first sign-ins of one identity make one teacher, and keep the
	// limit. A hash that exists already is an error.
	CreateSession(ctx context.Context, n NewSession) (uuid.UUID, error)

	// Session returns the session with the given hash, whether expired or not,
	// and [ErrNoSession] where there is none. It writes nothing.
	Session(ctx context.Context, hash TokenHash) (Session, error)

	// DeleteSession removes a session. Removing one that is not there is no error.
	DeleteSession(ctx context.Context, hash TokenHash) error

	// DeleteSessions removes all sessions of a teacher and returns their number.
	DeleteSessions(ctx context.Context, teacherID uuid.UUID) (int, error)

	// MarkUsed sets LastUsedAt of each session given, unless it is later
	// already. Sessions that are gone stay gone, without an error.
	MarkUsed(ctx context.Context, uses []LastUse) error

	// DeleteExpired removes at most limit sessions whose ExpiresAt is at or
	// before now, or whose LastUsedAt is at or before idleSince (the zero time:
	// none), and returns how many it removed.
	DeleteExpired(ctx context.Context, now, idleSince time.Time, limit int) (int, error)
}
