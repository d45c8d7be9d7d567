package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	// maxCodeBytes is the length of the longest login code that is given to the Exchanger. Codes of
	// mini programs have 32 to 64 characters, those of some OAuth 2 servers more than 1000.
	maxCodeBytes = 2048

	// codeMemory is how long a used code is remembered. Platforms forget a code after 5 minutes.
	codeMemory = 5 * time.Minute

	// maxUsedCodes bounds the memory for used codes while somebody sends invented ones. The
	// platform still rejects a code that was forgotten here.
	maxUsedCodes = 20_000

	// maxExchanges bounds how many exchanges run at once while the platform is slow.
	maxExchanges = 256
)

// checkCode rejects what cannot be a login code before it costs a request: a code is printable
// ASCII (RFC 6749, appendix A.11).
func checkCode(code string) error {
	if code == "" {
		return &ExchangeError{Kind: ErrCodeMissing}
	}
	if len(code) > maxCodeBytes || strings.ContainsFunc(code, func(r rune) bool { return r < ' ' || r > '~' }) {
		return &ExchangeError{Kind: ErrCodeRejected, Message: "malformed"}
	}
	return nil
}

// exchangeOnce sends a code to the platform at most once: concurrent calls with one code share the
// exchange, later calls fail with ErrCodeRejected. The exchange continues when ctx ends: the code
// is used by then, and other callers may be waiting for the result.
func (s *Service) exchangeOnce(ctx context.Context, code string) (Identity, error) {
	hash := sha256.Sum256([]byte(code))
	result := s.exchanges.DoChan(string(hash[:]), func() (any, error) {
		if !s.running.TryAcquire(1) {
			return Identity{}, &ExchangeError{
				Kind: ErrRateLimited, Message: "too many exchanges are running", After: time.Second,
			}
		}
		defer s.running.Release(1)
		if !s.used.add(hash, s.now()) {
			return Identity{}, &ExchangeError{Kind: ErrCodeRejected, Message: "already used"}
		}
		return s.exchange(context.WithoutCancel(ctx), code)
	})
	select {
	case r := <-result:
		return r.Val.(Identity), r.Err
	case <-ctx.Done():
		return Identity{}, ctx.Err()
	}
}

// exchange calls the Exchanger and checks its answer: whatever it does becomes a valid identity or
// an ExchangeError.
func (s *Service) exchange(ctx context.Context, code string) (id Identity, err error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	defer func() {
		if recover() != nil { // the value is not logged: it may contain anything
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
		s.noteCredentials(known.Kind)
		return id, err
	case errors.Is(err, context.DeadlineExceeded):
		return id, &ExchangeError{Kind: ErrPlatformTimeout}
	case err != nil:
		return id, &ExchangeError{Kind: ErrPlatform, Err: err}
	case id.Platform == developmentPlatform:
		return id, &ExchangeError{Kind: ErrPlatform, Message: "exchanger returned the platform " + developmentPlatform}
	case !id.Valid():
		return id, &ExchangeError{Kind: ErrPlatform, Message: "identity is empty, too long or not printable"}
	}
	s.refused.Store(false)
	return id, nil
}

// noteCredentials records whether the platform accepts our credentials, where its answer shows it.
func (s *Service) noteCredentials(kind error) {
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

// usedCodes remembers the hashes of login codes that were sent to the platform.
type usedCodes struct {
	mu    sync.Mutex
	at    map[[sha256.Size]byte]time.Time
	order [][sha256.Size]byte // oldest first
}

// add records a code, and returns false if it is already there. It forgets codes older than
// codeMemory, and the oldest of more than maxUsedCodes.
func (u *usedCodes) add(code [sha256.Size]byte, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.order) > 0 && (len(u.order) >= maxUsedCodes || now.Sub(u.at[u.order[0]]) >= codeMemory) {
		delete(u.at, u.order[0])
		u.order = u.order[1:]
	}
	if _, known := u.at[code]; known {
		return false
	}
	u.at[code] = now
	u.order = append(u.order, code)
	return true
}
