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
	TeacherID uuid.UUID
	Method    Method

	// CreatedAt and ExpiresAt are the session's; zero unless Method is MethodSession.
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Authenticate returns the teacher whose session token belongs to. It fails with [ErrInvalidToken]
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
		return Principal{}, s.storeFault(ctx, "find session", err)
	}
	if !s.now().Before(session.ExpiresAt) {
		return Principal{}, ErrInvalidToken
	}
	return Principal{
		TeacherID: session.TeacherID,
		Method:    MethodSession,
		CreatedAt: session.CreatedAt,
		ExpiresAt: session.ExpiresAt,
	}, nil
}

func (s *Service) findSession(ctx context.Context, hash TokenHash) (Session, error) {
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	return s.store.Session(ctx, hash)
}

// AuthenticateDevelopment returns the teacher with the given name, without any proof, where
// [Config.AllowDevelopment] permits it. A name has 1 to 64 of A-Z, a-z, 0-9 and ". _ @ + -"; each
// is another teacher, and never one of a platform. It fails like [Service.Authenticate].
func (s *Service) AuthenticateDevelopment(ctx context.Context, name string) (Principal, error) {
	if !s.development {
		return Principal{}, fmt.Errorf("%w: development sign-in is off", ErrInvalidToken)
	}
	id, ok := developmentIdentity(name)
	if !ok {
		return Principal{}, fmt.Errorf("%w: malformed development name", ErrInvalidToken)
	}
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	teacher, err := s.store.Teacher(ctx, id, s.now())
	if err != nil {
		return Principal{}, s.storeFault(ctx, "find development teacher", err)
	}
	return Principal{TeacherID: teacher, Method: MethodDevelopment}, nil
}

// Identity returns a teacher's identity at the platform, for programs that call the platform on the
// teacher's behalf. It fails with [ErrNoTeacher] if there is no such teacher. The identity is
// personal data: keep it out of logs and of answers to clients.
func (s *Service) Identity(ctx context.Context, teacherID uuid.UUID) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	id, err := s.store.Identity(ctx, teacherID)
	if err != nil && !errors.Is(err, ErrNoTeacher) {
		return Identity{}, s.storeFault(ctx, "find identity", err)
	}
	return id, err
}

// Logout ends the session of a token: when it returns, the token is invalid. A token that is
// already invalid is not an error.
func (s *Service) Logout(ctx context.Context, token string) error {
	hash, ok := hashToken(token)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	if err := s.store.DeleteSession(ctx, hash); err != nil {
		return s.storeFault(ctx, "delete session", err)
	}
	return nil
}

// DeleteTeacher deletes a teacher and ends all its sessions. Delete first what the program keeps of
// the teacher: the next sign-in of the same person creates another teacher.
func (s *Service) DeleteTeacher(ctx context.Context, teacherID uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	if err := s.store.DeleteTeacher(ctx, teacherID); err != nil {
		return s.storeFault(ctx, "delete teacher", err)
	}
	return nil
}

// LogoutAll ends all sessions of a teacher, as when a phone is lost or a teacher leaves, and
// returns how many there were.
func (s *Service) LogoutAll(ctx context.Context, teacherID uuid.UUID) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	n, err := s.store.DeleteSessions(ctx, teacherID)
	if err != nil {
		return 0, s.storeFault(ctx, "delete sessions", err)
	}
	return n, nil
}
