package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Login is a successful sign-in.
type Login struct {
	// Token is the bearer token of the new session. It is not stored anywhere.
	Token string

	UserID    uuid.UUID
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Login exchanges a one-time code for a session. The code is sent to the platform at most once:
// concurrent calls with one code share one exchange, and later calls fail with [ErrCodeRejected],
// even if the first answer was lost. A code is not used up while the store is down.
//
// It does not know its clients, so it does not limit how often one of them guesses: on HTTP
// requests, call it after Limiter.Take of package authhttp, as that package's operations do.
//
// It fails with an error that matches one of the sentinels from [ErrCodeMissing] to
// [ErrNotConfigured], or [ErrUnavailable], or with ctx's error.
func (s *Service) Login(ctx context.Context, code string) (Login, error) {
	return s.Relogin(ctx, code, "", "")
}

// Relogin is Login by a client that still holds a token: it ends the token's session if that
// belongs to the same user (OWASP ASVS 5.0 7.2.4), so that a client which signs in at every
// start does not accumulate sessions. An invalid token is ignored. Device names what signs in, such
// as "Firefox, Windows", in the list of sessions; it is cut to 256 bytes.
func (s *Service) Relogin(ctx context.Context, code, oldToken, device string) (Login, error) {
	if s.exchanger == nil {
		return Login{}, ErrNotConfigured
	}
	if err := checkCode(code); err != nil {
		return Login{}, err
	}
	replaces, _ := hashToken(oldToken)
	if _, err := s.findSession(ctx, replaces); err != nil && !errors.Is(err, ErrNoSession) {
		// A store that is down is noticed here, before the code is used up.
		return Login{}, s.storeFault(ctx, "find session", err)
	}
	id, err := s.exchangeOnce(ctx, code)
	if err != nil {
		return Login{}, err
	}
	login, err := s.createSession(ctx, id, replaces, displayName(device))
	if err != nil {
		return Login{}, s.storeFault(ctx, "create session", err)
	}
	s.log.InfoContext(ctx, "signed in", "teacher_id", login.UserID, "platform", id.Platform)
	return login, nil
}

func (s *Service) createSession(
	ctx context.Context, id Identity, replaces TokenHash, device string,
) (Login, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	now := s.now()
	login := Login{Token: newToken(), CreatedAt: now, ExpiresAt: now.Add(lifetime)}
	hash, _ := hashToken(login.Token)
	var err error
	login.UserID, err = s.store.CreateSession(ctx, NewSession{
		Identity:    id,
		TokenHash:   hash,
		Device:      device,
		CreatedAt:   now,
		ExpiresAt:   login.ExpiresAt,
		Replaces:    replaces,
		MaxSessions: maxSessions,
	})
	return login, err
}

// storeFault logs an error of the store, unless the caller has gone away, and returns it.
func (s *Service) storeFault(ctx context.Context, operation string, err error) error {
	err = storeError(operation, err)
	if !errors.Is(err, context.Canceled) {
		s.log.ErrorContext(ctx, "session store failed", "error", err)
	}
	return err
}

// storeError names the operation. A store that does not answer in time is unavailable.
func storeError(operation string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = Unavailable(err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
