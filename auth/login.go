package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

// maxCodeBytes is the longest login code that is passed on. Platforms document
// no length; codes seen in practice have 32 to 64 characters.
const maxCodeBytes = 128

// Login is a successful sign-in.
type Login struct {
	// Token is the bearer token. It exists here and at the client, nowhere else.
	Token string

	TeacherID uuid.UUID
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Login exchanges a one-time code for a session. The code goes to the platform
// at most once: concurrent calls with one code share one exchange, and later
// ones fail with [ErrCodeRejected], also when the first answer was lost. While
// the store is away the code is not spent.
//
// It fails with an error that matches one of the sentinels from
// [ErrCodeMissing] to [ErrNotConfigured], or [ErrUnavailable], or with ctx's
// error.
func (s *Service) Login(ctx context.Context, code string) (Login, error) {
	return s.Relogin(ctx, code, "")
}

// Relogin is Login by a client that still holds a token: it ends the token's
// session where that belongs to the teacher who signs in (OWASP ASVS 5.0
// 7.2.4), so that a client which signs in at every start leaves no trail of
// sessions. A token that is not good is ignored.
func (s *Service) Relogin(ctx context.Context, code, oldToken string) (Login, error) {
	if s.exchanger == nil {
		return Login{}, ErrNotConfigured
	}
	if err := checkCode(code); err != nil {
		return Login{}, err
	}
	replaces, _ := hashToken(s.prefix, oldToken)
	if _, err := s.findSession(ctx, replaces); err != nil && !errors.Is(err, ErrNoSession) {
		// A store that is away shows here, before the code is spent on it.
		return Login{}, s.storeFault(ctx, "find session", err)
	}
	id, err := s.codes.do(ctx, code, s.now(), func() (Identity, error) {
		return s.exchange(context.WithoutCancel(ctx), code)
	})
	if err != nil {
		return Login{}, err
	}
	login, err := s.createSession(ctx, id, replaces)
	if err != nil {
		return Login{}, s.storeFault(ctx, "create session", err)
	}
	s.log.InfoContext(ctx, "signed in", "teacher_id", login.TeacherID, "platform", id.Platform)
	return login, nil
}

func (s *Service) createSession(ctx context.Context, id Identity, replaces TokenHash) (Login, error) {
	ctx, cancel := context.WithTimeout(ctx, s.storeTimeout)
	defer cancel()
	now := s.now()
	login := Login{Token: newToken(s.prefix), CreatedAt: now, ExpiresAt: now.Add(s.lifetime)}
	hash, _ := hashToken(s.prefix, login.Token)
	var err error
	login.TeacherID, err = s.store.CreateSession(ctx, NewSession{
		Identity:    id,
		TokenHash:   hash,
		CreatedAt:   now,
		ExpiresAt:   login.ExpiresAt,
		Replaces:    replaces,
		MaxSessions: s.maxSessions,
	})
	return login, err
}

// checkCode turns down what cannot be a login code before it costs anything.
// Only unreserved URL characters are taken: a code is never part of the syntax
// of what it is put into.
func checkCode(code string) error {
	if code == "" {
		return &ExchangeError{Kind: ErrCodeMissing}
	}
	if len(code) > maxCodeBytes || strings.ContainsFunc(code, func(r rune) bool {
		return r != '-' && r != '_' && !strings.ContainsRune(base62, r)
	}) {
		return &ExchangeError{Kind: ErrCodeRejected, Message: "malformed"}
	}
	return nil
}

// exchange asks the platform once, and makes sure that whatever an Exchanger
// does comes back as an identity to trust or as an ExchangeError.
func (s *Service) exchange(ctx context.Context, code string) (id Identity, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.exchangeTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			// Not the panic's value: nobody knows what is in it.
			s.log.ErrorContext(ctx, "exchanger panicked", "stack", string(debug.Stack()))
			err = &ExchangeError{Kind: ErrPlatform, Message: "exchanger panicked"}
		}
		if err != nil {
			id = Identity{}
			s.logRefusal(ctx, err)
		}
	}()
	id, err = s.exchanger.Exchange(ctx, code)
	var known *ExchangeError
	switch {
	case errors.As(err, &known):
		s.noteAnswer(known.Kind)
		return id, err
	case errors.Is(err, context.DeadlineExceeded):
		return id, &ExchangeError{Kind: ErrPlatformTimeout}
	case err != nil:
		return id, &ExchangeError{Kind: ErrPlatform, Err: err}
	case id.Platform == DevelopmentPlatform:
		return id, &ExchangeError{Kind: ErrPlatform, Message: "exchanger claims the platform " + DevelopmentPlatform}
	case !id.Valid():
		return id, &ExchangeError{Kind: ErrPlatform, Message: "identity is empty, too long or not printable"}
	}
	s.refused.Store(false)
	return id, nil
}

// noteAnswer remembers whether the platform takes our credentials, where its
// answer says so.
func (s *Service) noteAnswer(kind error) {
	switch {
	case errors.Is(kind, ErrMisconfigured):
		s.refused.Store(true)
	case errors.Is(kind, ErrCodeRejected), errors.Is(kind, ErrBlocked), errors.Is(kind, ErrRateLimited):
		s.refused.Store(false)
	}
}

func (s *Service) logRefusal(ctx context.Context, err error) {
	level := slog.LevelWarn
	switch {
	case errors.Is(err, ErrMisconfigured):
		level = slog.LevelError
	case errors.Is(err, ErrCodeRejected), errors.Is(err, ErrBlocked):
		level = slog.LevelInfo
	}
	s.log.Log(ctx, level, "sign-in refused", "error", err)
}

// storeFault logs what the store could not do, unless nobody waits for it any
// more, and returns it.
func (s *Service) storeFault(ctx context.Context, operation string, err error) error {
	err = storeError(operation, err)
	if !errors.Is(err, context.Canceled) {
		s.log.ErrorContext(ctx, "session store failed", "error", err)
	}
	return err
}

// storeError names the operation. A store that answers too late counts as one
// that is not available.
func storeError(operation string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = Unavailable(err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
