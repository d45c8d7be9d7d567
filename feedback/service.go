package feedback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
)

// Config configures a [Service].
type Config struct {
	Store Store      // required
	Audio AudioStore // required

	// Transcriber is used by [Service.RunTask]. A process that runs no tasks needs none.
	Transcriber Transcriber
	// Summarizer is used by [Service.Generate]. If nil, Generate fails with [ErrSummary].
	Summarizer Summarizer

	// RetryDelays are the delays after the first failure of a transcription, the second, and so on;
	// the last one repeats. See [Service.RetryDelay]. Defaults to 1, 5 and 30 minutes, 2 and 8
	// hours.
	RetryDelays []time.Duration

	// Paused reports whether recordings wait because somebody has paused transcription: how long is
	// then unknown. If nil, that is never so.
	Paused func(ctx context.Context) bool

	// Defaults apply to teachers who have saved none. Defaults to an art class of 90 minutes, in
	// English or as [WithChinese] says.
	Defaults Defaults
	// MaxAudioBytes limits one recording. Defaults to 128 MiB.
	MaxAudioBytes int64
	// Limits bound what one teacher may use in a day.
	Limits Limits

	// PollInterval is how often [Service.Events] looks for changes made by other processes, for
	// all sessions that are followed in one query. Defaults to 1 second.
	PollInterval time.Duration
	// StuckThreshold is how long a segment may be transcribing before [Service.Sweep] queues it
	// again. It must be longer than a worker may hold a job: it is a last resort behind the
	// queue's own leases. Defaults to 3 hours.
	StuckThreshold time.Duration

	// Now is the clock. The location of its times determines the current day and year. Defaults to
	// time.Now.
	Now func() time.Time
	// Logger receives failures in the background. If nil, nothing is logged.
	Logger *slog.Logger
}

// Service implements the operations of the teaching-feedback service. See the package documentation
// for what its methods have in common.
type Service struct {
	cfg     Config
	store   Store
	broker  broker
	running *semaphore.Weighted // transcriptions: 1 for each, maxRunning for one that runs alone

	summaries singleflight.Group // running ones, by what they are made of
}

// maxRunning is more than the number of transcriptions that run at once.
const maxRunning = 1 << 20

// New returns a Service. It starts nothing.
func New(c Config) (*Service, error) {
	if c.Store == nil || c.Audio == nil {
		return nil, errors.New("feedback: Config needs a Store and an Audio store")
	}
	if c.Defaults != (Defaults{}) {
		if err := c.Defaults.validate(); err != nil {
			return nil, fmt.Errorf("feedback: Config.Defaults: %w", err)
		}
	}
	if len(c.RetryDelays) == 0 {
		c.RetryDelays = []time.Duration{
			time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour,
		}
	}
	c.MaxAudioBytes = min(cmp.Or(max(c.MaxAudioBytes, 0), 128<<20), 1<<62) // a form is larger
	c.Limits = c.Limits.withDefaults()
	c.PollInterval = cmp.Or(max(c.PollInterval, 0), time.Second)
	c.StuckThreshold = cmp.Or(max(c.StuckThreshold, 0), 3*time.Hour)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{cfg: c, store: c.Store, running: semaphore.NewWeighted(maxRunning)}, nil
}

// MaxAudioBytes returns the size limit of a recording.
func (s *Service) MaxAudioBytes() int64 { return s.cfg.MaxAudioBytes }

// now is the current time as every store can represent it: UTC, in microseconds.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond) }
