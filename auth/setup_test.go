package auth

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// oneSession is a store with one session that never ends, for tests that are
// not about stores; it counts what it is asked.
type oneSession struct {
	hash    TokenHash
	session Session

	mu     sync.Mutex
	lookup []TokenHash
	marked []LastUse
}

func (s *oneSession) Teacher(context.Context, Identity, time.Time) (uuid.UUID, error) {
	return uuid.Nil, nil
}

func (s *oneSession) Identity(context.Context, uuid.UUID) (Identity, error) {
	return Identity{}, ErrNoTeacher
}

func (s *oneSession) CreateSession(_ context.Context, n NewSession) (uuid.UUID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hash = n.TokenHash
	return uuid.Nil, nil
}

func (s *oneSession) Session(_ context.Context, hash TokenHash) (Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookup = append(s.lookup, hash)
	if hash != s.hash {
		return Session{}, ErrNoSession
	}
	session := s.session
	if session.ExpiresAt.IsZero() {
		session.ExpiresAt = time.Now().Add(time.Hour)
	}
	return session, nil
}

func (s *oneSession) DeleteSession(context.Context, TokenHash) error { return nil }

func (s *oneSession) DeleteSessions(context.Context, uuid.UUID) (int, error) { return 0, nil }

func (s *oneSession) MarkUsed(_ context.Context, uses []LastUse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marked = append(s.marked, uses...)
	return nil
}

func (s *oneSession) DeleteExpired(context.Context, time.Time, time.Time, int) (int, error) {
	return 0, nil
}
