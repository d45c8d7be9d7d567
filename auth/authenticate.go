package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// DevelopmentHeader is the name of the header that names a teacher outright,
// where [Config.DevelopmentHeader] allows it: 1 to 64 of A-Z, a-z, 0-9 and
// ". _ @ + -". Each name is a teacher of its own.
const DevelopmentHeader = "X-Development-User"

// Method is how a request was authenticated.
type Method string

// The methods of a [Principal].
const (
	MethodSession     Method = "session"     // by a bearer token
	MethodDevelopment Method = "development" // by the development header
)

// Principal is who sends a request.
type Principal struct {
	TeacherID uuid.UUID
	Method    Method

	// CreatedAt and ExpiresAt are the session's; zero unless Method is
	// MethodSession.
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Authenticate tells who sends r. A bearer token wins over the development
// header also when it is not good. Errors match [ErrNoToken],
// [ErrInvalidToken] or [ErrUnavailable]; any other is a fault of the store or
// ctx's error.
func (s *Service) Authenticate(r *http.Request) (Principal, error) {
	return s.AuthenticateHeader(r.Context(), r.Header)
}

// AuthenticateHeader is Authenticate for whoever has the header of a request
// but not the request. The keys of h are in canonical form.
func (s *Service) AuthenticateHeader(ctx context.Context, h http.Header) (Principal, error) {
	token, err := BearerToken(h)
	switch {
	case err == nil:
		return s.AuthenticateToken(ctx, token)
	case errors.Is(err, ErrNoToken) && s.development && len(h[DevelopmentHeader]) > 0:
		return s.authenticateDevelopment(ctx, h[DevelopmentHeader])
	}
	return Principal{}, err
}

// AuthenticateToken tells whose session a token is, for transports other than
// HTTP.
func (s *Service) AuthenticateToken(ctx context.Context, token string) (Principal, error) {
	hash, ok := hashToken(s.prefix, token)
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
	now := s.now()
	if !now.Before(session.ExpiresAt) || s.idleTimeout > 0 && now.Sub(session.LastUsedAt) >= s.idleTimeout {
		return Principal{}, ErrInvalidToken
	}
	if now.Sub(session.LastUsedAt) >= s.lastUsedInterval {
		s.uses.add(hash, now)
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

func (s *Service) authenticateDevelopment(ctx context.Context, names []string) (Principal, error) {
	id, ok := developmentIdentity(names[0])
	if !ok || len(names) > 1 {
		return Principal{}, fmt.Errorf("%w: %s wants one name of 1 to %d of A-Z, a-z, 0-9 and ._@+-",
			ErrInvalidToken, DevelopmentHeader, maxDevelopmentName)
	}
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	teacher, err := s.store.Teacher(ctx, id, s.now())
	if err != nil {
		return Principal{}, s.storeFault(ctx, "find development teacher", err)
	}
	return Principal{TeacherID: teacher, Method: MethodDevelopment}, nil
}

// Identity tells who a teacher is at the platform, for programs that call the
// platform on the teacher's behalf. It fails with [ErrNoTeacher] where there is
// no such teacher. The identity is personal data: it belongs in no log and in
// no answer to a client.
func (s *Service) Identity(ctx context.Context, teacherID uuid.UUID) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	id, err := s.store.Identity(ctx, teacherID)
	if err != nil && !errors.Is(err, ErrNoTeacher) {
		return Identity{}, s.storeFault(ctx, "find identity", err)
	}
	return id, err
}

// Logout ends the session of a token. The token is dead when Logout returns.
// A token that is not good is no error: it is dead already.
func (s *Service) Logout(ctx context.Context, token string) error {
	hash, ok := hashToken(s.prefix, token)
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

// LogoutAll ends every session of a teacher and returns how many there were. It
// is what to call when a phone is lost or a teacher leaves.
func (s *Service) LogoutAll(ctx context.Context, teacherID uuid.UUID) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	n, err := s.store.DeleteSessions(ctx, teacherID)
	if err != nil {
		return 0, s.storeFault(ctx, "delete sessions", err)
	}
	return n, nil
}
