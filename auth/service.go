package auth

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// DefaultLifetime is how long a session lasts unless [Config.Lifetime] says
// otherwise.
const DefaultLifetime = 30 * 24 * time.Hour

// Config says how a [Service] works. Only Store is required.
type Config struct {
	// Store keeps teachers and sessions.
	Store Store

	// Exchanger asks the platform who a login code belongs to. If nil, Login
	// answers [ErrNotConfigured]; sessions that exist go on working.
	Exchanger Exchanger

	// Lifetime is how long a session lasts from its sign-in. It is fixed: use
	// does not extend it. Defaults to [DefaultLifetime], 30 days.
	Lifetime time.Duration

	// IdleTimeout ends a session that was not used for so long. It counts from
	// the stored time of last use, so it is exact to LastUsedInterval, and needs
	// [Service.Run] to be running, which stores that time. Must be at least twice
	// LastUsedInterval. Defaults to 0: no such limit.
	IdleTimeout time.Duration

	// LastUsedInterval is how far behind the stored time of last use may be: a
	// session in constant use is written once in so long. Defaults to 5 minutes.
	LastUsedInterval time.Duration

	// MaxSessions is how many sessions one teacher may have; a sign-in beyond it
	// ends the oldest. Defaults to 10; negative for any number.
	MaxSessions int

	// CleanupInterval is how often Run deletes expired sessions. Defaults to 1 hour.
	CleanupInterval time.Duration

	// ExchangeTimeout is how long one exchange of a login code may take before
	// Login answers [ErrPlatformTimeout]. Defaults to 10 seconds.
	ExchangeTimeout time.Duration

	// StoreTimeout is how long a request may wait for the store before it counts
	// as not available: a database behind a cut line does not answer at all.
	// Defaults to 5 seconds.
	StoreTimeout time.Duration

	// TokenPrefix starts every token: at most 16 of A-Z, a-z, 0-9 and "_". Tokens
	// with another prefix are turned down, so a change ends every session.
	// Defaults to "mps_".
	TokenPrefix string

	// DevelopmentHeader makes Authenticate take the X-Development-User header for
	// identity when there is no bearer token: whoever can reach the server is
	// whoever he says. It is for development alone, and New warns of it.
	DevelopmentHeader bool

	// Production forces DevelopmentHeader off, whatever it says.
	Production bool

	// Now is the only clock. If nil, time.Now.
	Now func() time.Time

	// Logger gets sign-ins, refusals by the platform and faults; never a token, a
	// login code, a secret or a platform's user identifier. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

// Service signs teachers in and tells who sends a request. It is safe for
// concurrent use. It keeps no sessions in memory: every request asks the store,
// so a revoked token is dead at once on every node.
type Service struct {
	store            Store
	exchanger        Exchanger
	lifetime         time.Duration
	idleTimeout      time.Duration
	lastUsedInterval time.Duration
	maxSessions      int
	cleanupInterval  time.Duration
	exchangeTimeout  time.Duration
	storeTimeout     time.Duration
	prefix           string
	development      bool
	clock            func() time.Time
	log              *slog.Logger

	codes   codes
	uses    uses
	refused atomic.Bool // the platform refused our credentials at the last exchange
}

// New makes a Service. It starts nothing; see [Service.Run]. It fails where the
// configuration contradicts itself.
func New(c Config) (*Service, error) {
	s := &Service{
		store:            c.Store,
		exchanger:        c.Exchanger,
		lifetime:         cmp.Or(c.Lifetime, DefaultLifetime),
		idleTimeout:      c.IdleTimeout,
		lastUsedInterval: cmp.Or(c.LastUsedInterval, 5*time.Minute),
		maxSessions:      max(cmp.Or(c.MaxSessions, 10), 0),
		cleanupInterval:  cmp.Or(c.CleanupInterval, time.Hour),
		exchangeTimeout:  cmp.Or(c.ExchangeTimeout, 10*time.Second),
		storeTimeout:     cmp.Or(c.StoreTimeout, 5*time.Second),
		prefix:           cmp.Or(c.TokenPrefix, "mps_"),
		development:      c.DevelopmentHeader && !c.Production,
		clock:            c.Now,
		log:              c.Logger,
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.codes.init()
	s.uses.init()
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	switch {
	case s.development:
		s.log.Warn("DEVELOPMENT SIGN-IN IS ON: every request may name its teacher in the " +
			DevelopmentHeader + " header, without any proof; never do this in production")
	case c.DevelopmentHeader:
		s.log.Warn("development sign-in was asked for and is off: this is a production deployment")
	}
	return s, nil
}

func (s *Service) check() error {
	if s.store == nil {
		return errors.New("Config.Store is nil")
	}
	for name, d := range map[string]time.Duration{
		"Lifetime": s.lifetime, "LastUsedInterval": s.lastUsedInterval,
		"CleanupInterval": s.cleanupInterval, "ExchangeTimeout": s.exchangeTimeout,
		"StoreTimeout": s.storeTimeout,
	} {
		if d < 0 {
			return fmt.Errorf("the duration Config.%s is %v, want a positive one", name, d)
		}
	}
	if s.idleTimeout != 0 && s.idleTimeout < 2*s.lastUsedInterval {
		return fmt.Errorf("Config.IdleTimeout is %v, want at least twice LastUsedInterval (%v)", s.idleTimeout, s.lastUsedInterval)
	}
	return checkPrefix(s.prefix)
}

// now is the service's clock in the precision that stores keep.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// LoginConfigured reports whether Login can work: there is an [Exchanger], and
// the platform did not refuse this program's credentials at the last exchange.
func (s *Service) LoginConfigured() bool { return s.exchanger != nil && !s.refused.Load() }

// DevelopmentEnabled reports whether the development header is taken.
func (s *Service) DevelopmentEnabled() bool { return s.development }
