package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Method is how a caller was authenticated.
type Method string

// The methods of a [Principal].
const (
	MethodSession     Method = "session"     // by a session token
	MethodDevelopment Method = "development" // by a plain name, see [Service.AuthenticateDevelopment]
)

// Principal is an authenticated caller.
type Principal struct {
	UserID uuid.UUID
	Method Method

	// Session identifies the session, in [Service.Sessions] too, and CreatedAt and ExpiresAt are
	// its own; zero unless Method is MethodSession.
	Session   TokenHash
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Authenticate returns the user whose session token belongs to. It fails with [ErrInvalidToken]
// if the token is malformed, unknown, expired or revoked, and with [ErrUnavailable] while the store
// is down; any other error is a fault of the store or ctx's error.
func (s *Service) Authenticate(ctx context.Context, token string) (Principal, error) {
	hash, ok := hashToken(token)
	if !ok {
		return Principal{}, ErrInvalidToken
	}
	session, err := s.findSession(ctx, hash)
	if errors.Is(err, ErrNoSession) {
		return Principal{}, ErrInvalidToken
	}
	if err != nil {
		return Principal{}, err
	}
	if !s.now().Before(session.ExpiresAt) {
		return Principal{}, ErrInvalidToken
	}
	return Principal{
		UserID:    session.UserID,
		Method:    MethodSession,
		Session:   hash,
		CreatedAt: session.CreatedAt,
		ExpiresAt: session.ExpiresAt,
	}, nil
}

func (s *Service) findSession(ctx context.Context, hash TokenHash) (session Session, err error) {
	err = s.ask(ctx, "find session", func(ctx context.Context) (err error) {
		session, err = s.store.Session(ctx, hash)
		return err
	}, ErrNoSession)
	return session, err
}

// AuthenticateDevelopment returns the user with the given name, without any proof, where
// [Config.AllowDevelopment] permits it. A name has 1 to 64 of A-Z, a-z, 0-9 and ". _ @ + -"; each
// is another user, and never one of a platform. It fails like [Service.Authenticate].
func (s *Service) AuthenticateDevelopment(ctx context.Context, name string) (Principal, error) {
	if !s.development {
		return Principal{}, fmt.Errorf("%w: development sign-in is off", ErrInvalidToken)
	}
	id, ok := developmentIdentity(name)
	if !ok {
		return Principal{}, fmt.Errorf("%w: malformed development name", ErrInvalidToken)
	}
	p := Principal{Method: MethodDevelopment}
	err := s.ask(ctx, "find development user", func(ctx context.Context) (err error) {
		p.UserID, err = s.store.User(ctx, id, s.now())
		return err
	})
	if err != nil {
		return Principal{}, err
	}
	return p, nil
}

// Identity returns a user's identity at the platform, for programs that call the platform on the
// user's behalf. It fails with [ErrNoUser] if there is no such user. The identity is
// personal data: keep it out of logs and of answers to clients.
func (s *Service) Identity(ctx context.Context, userID uuid.UUID) (id Identity, err error) {
	err = s.ask(ctx, "find identity", func(ctx context.Context) (err error) {
		id, err = s.store.Identity(ctx, userID)
		return err
	}, ErrNoUser)
	return id, err
}

// DeleteUser deletes a user and ends all its sessions. Delete first what the program keeps of
// the user: the next sign-in of the same person creates another user.
func (s *Service) DeleteUser(ctx context.Context, userID uuid.UUID) error {
	return s.ask(ctx, "delete user", func(ctx context.Context) error { return s.store.DeleteUser(ctx, userID) })
}

// LogoutAll ends all sessions of a user, as when a phone is lost or a user leaves.
// Devices that the user has confirmed can no longer sign in either.
func (s *Service) LogoutAll(ctx context.Context, userID uuid.UUID) error {
	return s.ask(ctx, "delete sessions", func(ctx context.Context) error {
		return s.store.DeleteSessions(ctx, userID)
	})
}
