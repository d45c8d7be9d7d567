package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
)

// Config configures a [Service]. Only Store is required.
type Config struct {
	// Store keeps users and sessions.
	Store Store

	// Exchanger exchanges login codes at the platform. If nil, Login fails with
	// [ErrNotConfigured]; existing sessions continue to work.
	Exchanger Exchanger

	// AllowDevelopment turns on [Service.AuthenticateDevelopment], by which every caller can be
	// any user. It is for development only, and New logs a warning.
	AllowDevelopment bool

	// Now is the clock. If nil, time.Now.
	Now func() time.Time

	// Logger receives sign-ins, refusals by the platform and faults; never a token, a login code,
	// a secret or a platform's user identifier. If nil, nothing is logged.
	Logger *slog.Logger
}

// Service signs users in and authenticates their tokens. It is safe for concurrent use. It
// keeps no sessions in memory: every token is looked up in the store.
type Service struct {
	store       Store
	exchanger   Exchanger
	development bool
	clock       func() time.Time
	log         *slog.Logger

	exchanges singleflight.Group // by the hash of the code
	running   *semaphore.Weighted
	used      usedCodes
	refused   atomic.Bool // the platform refused our credentials at the last exchange
}

// New returns a Service. It starts nothing; see [Service.Run].
func New(c Config) (*Service, error) {
	s := &Service{
		store:       c.Store,
		exchanger:   c.Exchanger,
		development: c.AllowDevelopment,
		clock:       c.Now,
		log:         cmp.Or(c.Logger, slog.New(slog.DiscardHandler)),
		running:     semaphore.NewWeighted(maxExchanges),
		used:        usedCodes{at: map[[sha256.Size]byte]time.Time{}},
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.store == nil {
		return nil, errors.New("auth: Config.Store is nil")
	}
	if s.development {
		s.log.Warn("DEVELOPMENT SIGN-IN IS ON: every request may name its user without any proof; " +
			"never do this in production")
	}
	return s, nil
}

// now returns the time in the precision that stores keep.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// LoginConfigured reports whether Login can work: there is an [Exchanger], and the platform did not
// refuse this program's credentials at the last exchange.
func (s *Service) LoginConfigured() bool { return s.exchanger != nil && !s.refused.Load() }

// DevelopmentEnabled reports whether [Service.AuthenticateDevelopment] is on.
func (s *Service) DevelopmentEnabled() bool { return s.development }

const (
	// lifetime is how long a session lasts from its sign-in.
	lifetime = 30 * 24 * time.Hour

	// maxSessions is how many sessions one user may have; a further sign-in ends the oldest.
	maxSessions = 10

	// exchangeTimeout is how long the exchange of a login code may take before Login fails with
	// [ErrPlatformTimeout].
	exchangeTimeout = 8 * time.Second

	// storeTimeout is how long a request may wait for the store before it fails with
	// [ErrUnavailable]: a database behind a half-open connection never answers.
	storeTimeout = 5 * time.Second

	cleanupInterval = time.Hour

	// cleanupBatch is how many sessions one statement deletes, so that it does not hold locks for
	// long.
	cleanupBatch = 1000

	// cleanupTimeout bounds one statement on a store that does not answer.
	cleanupTimeout = time.Minute
)

// Run deletes expired sessions at once and then every hour, until ctx ends; it returns nil. Errors
// of the store are logged. Several nodes may run it on one store. Without it, expired sessions stay
// in the store but sign nobody in.
func (s *Service) Run(ctx context.Context) error {
	ticker := time.NewTicker(cleanupInterval)
	defer ticker.Stop()
	for {
		n, err := s.deleteExpired(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot delete expired sessions", "error", err)
		}
		if n > 0 {
			s.log.InfoContext(ctx, "deleted expired sessions", "count", n)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// deleteExpired deletes all expired sessions and returns their number.
func (s *Service) deleteExpired(ctx context.Context) (total int, err error) {
	now := s.now()
	for {
		batch, cancel := context.WithTimeout(ctx, cleanupTimeout)
		n, err := s.store.DeleteExpired(batch, now, cleanupBatch)
		cancel()
		total += n
		if err != nil {
			return total, fmt.Errorf("delete expired sessions: %w", err)
		}
		if n < cleanupBatch {
			return total, nil
		}
	}
}
