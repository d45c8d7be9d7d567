package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Login exchanges a one-time code for a session. A process sends a code to the platform at most
// once: concurrent calls with one code share one exchange, and later calls fail with
// [ErrCodeRejected], even if the first answer was lost. A code is not used up while the store is
// down.
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
		return Login{}, err // a store that is down is noticed here, before the code is used up
	}
	id, err := s.exchangeOnce(ctx, code)
	if err != nil {
		return Login{}, err
	}
	login, session := s.newSession()
	session.Identity, session.Replaces, session.Device = id, replaces, displayName(device)
	err = s.ask(ctx, "create session", func(ctx context.Context) (err error) {
		login.UserID, err = s.store.CreateSession(ctx, session)
		return err
	})
	if err != nil {
		return Login{}, err
	}
	s.log.InfoContext(ctx, "signed in", "teacher_id", login.UserID, "platform", id.Platform)
	return login, nil
}

// newSession returns a sign-in that begins now, and what the store keeps of it.
func (s *Service) newSession() (Login, NewSession) {
	now := s.now()
	login := Login{Token: newToken(), CreatedAt: now, ExpiresAt: now.Add(lifetime)}
	hash, _ := hashToken(login.Token)
	return login, NewSession{TokenHash: hash, CreatedAt: now, ExpiresAt: login.ExpiresAt, MaxSessions: maxSessions}
}

// ask calls the store, which is unavailable if it does not answer in time. An error is named and
// logged, unless it is one of the answers or the caller has gone away.
func (s *Service) ask(
	ctx context.Context, operation string, call func(ctx context.Context) error, answers ...error,
) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := call(ctx)
	if err == nil || slices.ContainsFunc(answers, func(answer error) bool { return errors.Is(err, answer) }) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = Unavailable(err)
	}
	err = fmt.Errorf("%s: %w", operation, err)
	if !errors.Is(err, context.Canceled) {
		s.log.ErrorContext(ctx, "session store failed", "error", err)
	}
	return err
}
