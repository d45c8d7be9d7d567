package feedback

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// Config is what a [Service] is made of.
type Config struct {
	Store Store      // required
	Audio AudioStore // required

	// Transcriber is used by [Service.Perform]. A process that performs no
	// tasks needs none.
	Transcriber Transcriber
	// Summarizer is used by [Service.Generate]. If nil, Generate fails with
	// [ErrSummary].
	Summarizer Summarizer

	// Defaults are what a teacher who saved none has. Defaults to an art
	// class of 90 minutes.
	Defaults Defaults
	// MaxAudioBytes bounds one recording. Defaults to 128 MiB.
	MaxAudioBytes int64
	// Location is where "today" and "this year" are. Defaults to time.Local.
	Location *time.Location

	// PollInterval is how often [Service.Events] asks the store for changes
	// made by other processes. Defaults to 1 second.
	PollInterval time.Duration
	// SweepInterval is how often [Service.Run] sweeps. Defaults to 1 hour.
	SweepInterval time.Duration
	// OrphanAge is how old audio must be before a sweep takes it for left
	// over. Longer than any upload lasts. Defaults to 1 hour.
	OrphanAge time.Duration
	// StuckAfter is how long a segment may be transcribing before a sweep
	// queues it again: longer than a worker may hold a job. It is the last
	// resort behind the queue's own leases. Defaults to 3 hours.
	StuckAfter time.Duration

	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Logger gets what goes wrong in the background. If nil, nothing is logged.
	Logger *slog.Logger
}

// DefaultMaxAudioBytes is the default of [Config.MaxAudioBytes].
const DefaultMaxAudioBytes = 128 << 20

// Service is the feedback book. See the package comment for what its methods
// have in common.
type Service struct {
	cfg    Config
	store  Store
	events broker
}

// New makes a Service. It starts nothing.
func New(c Config) (*Service, error) {
	if c.Store == nil || c.Audio == nil {
		return nil, errors.New("feedback: Config needs a Store and an Audio store")
	}
	if c.Defaults == (Defaults{}) {
		c.Defaults = artClass
	}
	if err := c.Defaults.validate(); err != nil {
		return nil, err
	}
	c.MaxAudioBytes = orElse(c.MaxAudioBytes, DefaultMaxAudioBytes)
	c.PollInterval = orElse(c.PollInterval, time.Second)
	c.SweepInterval = orElse(c.SweepInterval, time.Hour)
	c.OrphanAge = orElse(c.OrphanAge, time.Hour)
	c.StuckAfter = orElse(c.StuckAfter, 3*time.Hour)
	if c.Location == nil {
		c.Location = time.Local
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{cfg: c, store: c.Store}, nil
}

func orElse[T int64 | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// MaxAudioBytes is the largest recording that is taken.
func (s *Service) MaxAudioBytes() int64 { return s.cfg.MaxAudioBytes }

// now is the time in the form that every store keeps unchanged.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond) }

// newID makes an identifier that sorts by creation.
func newID() (uuid.UUID, error) { return uuid.NewV7() }

// Run sweeps now and then until ctx ends; it then returns nil. One process of
// several is enough, and more do no harm.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.SweepInterval)
	defer tick.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Logger.ErrorContext(ctx, "sweep", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
