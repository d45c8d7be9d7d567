package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"lessonkit.example/asr"
	"lessonkit.example/auth"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/audios3"
	"lessonkit.example/jobqueue"
)

// Report is the body of GET /health. Everybody gets the flags; only operators get the details, such
// as names of hosts, sizes and counts, which are empty for others.
type Report struct {
	Status   string         `json:"status" enum:"ok,degraded" doc:"ok if all works: data, uploads, speech, sign-in."`
	Version  string         `json:"version,omitempty" doc:"For operators."`
	Database DatabaseReport `json:"database"`
	Speech   SpeechReport   `json:"speech"`
	Queue    *QueueReport   `json:"queue,omitempty" doc:"For operators; absent until the jobs were counted."`
	Storage  *StorageReport `json:"storage,omitempty" doc:"For operators."`

	SpeechAvailable        bool `json:"speech_available" doc:"The recogniser can take jobs."`
	StorageAvailable       bool `json:"storage_available" doc:"Recordings and texts can be stored."`
	MiniappAuthConfigured  bool `json:"miniapp_auth_configured" doc:"Production sign-in is ready."`
	DevelopmentAuthEnabled bool `json:"development_auth_enabled" doc:"The development header is accepted."`
	DeviceAuthEnabled      bool `json:"device_auth_enabled" doc:"Teachers sign in to the page by a code."`

	OAuthName string `json:"oauth_name,omitempty" doc:"The OAuth 2 server at which teachers sign in to the page."`

	// SignInRefused: the platform or the OAuth 2 server refuses this server's credentials.
	SignInRefused bool `json:"-"`
}

// DatabaseReport is the state of the database.
type DatabaseReport struct {
	Configured bool   `json:"configured"`
	Reachable  bool   `json:"reachable"`
	Migrated   bool   `json:"migrated"`
	Engine     string `json:"engine,omitempty" enum:"postgres,sqlite" doc:"For operators."`

	// PoolerMisused is true from the first error of a connection pooler in transaction mode on.
	PoolerMisused bool `json:"pooler_misused" doc:"The log says what DATABASE_URL lacks."`
}

// SpeechReport is the state of the recognizer at its last check or use.
type SpeechReport struct {
	Provider  string `json:"provider" enum:"local,cloud"`
	Available bool   `json:"available"`
	Model     string `json:"model,omitempty" doc:"For operators."`
	Detail    string `json:"detail,omitempty" doc:"For operators: why it is not available, or a note on its state."`
}

// QueueReport counts background jobs, each number up to a bound of 10001 for each queue.
type QueueReport struct {
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	Failed  int `json:"failed"`

	Paused []string `json:"paused,omitempty" doc:"Queues whose jobs wait until an operator resumes them."`

	AgeSeconds float64 `json:"age_seconds" doc:"How long ago they were counted: long if the database is slow or away."`
}

// StorageReport is the state of the file system of the recordings.
type StorageReport struct {
	FreeBytes    int64 `json:"free_bytes"`
	TotalBytes   int64 `json:"total_bytes" doc:"0 if unknown."`
	ReserveBytes int64 `json:"reserve_bytes" doc:"Uploads are refused while less is free."`

	Detail string `json:"detail,omitempty" doc:"Why uploads or texts are refused."`
}

const (
	healthTimeout = 1500 * time.Millisecond // for the whole state, which is empty then
	checkTimeout  = 1300 * time.Millisecond // a check that takes longer counts as failed
	storageWait   = 800 * time.Millisecond  // for the check of the storage: balancers wait a second for /readyz
	healthMaxAge  = 2 * time.Second         // how long a result is used
	storageMaxAge = 90 * time.Second        // how long a success of a slow storage is told: scrapes are rare
	countTimeout  = 20 * time.Second
	countWait     = 30 * time.Millisecond // for new counts; then the last ones must do
)

// health reports the state of the service. Its checks of the database run side by side under a
// timeout.
type health struct {
	config     Config
	version    string
	db         *database           // nil if none is configured
	audio      feedback.AudioStore // nil without a database
	accounts   *auth.Service       // nil without a database
	recognizer asr.Recognizer
	stopping   *atomic.Bool

	database cached[databaseState]
	storage  cached[storageState]
	stats    cached[jobqueue.Stats]
}

// cached is a value that may take long to find out. It is safe for concurrent use.
type cached[T any] struct {
	refreshing singleflight.Group

	mu    sync.Mutex
	value T
	at    time.Time // zero: never
}

func (c *cached[T]) last() (T, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.at
}

// get returns the last value and its time. It has it refreshed, once for all concurrent callers, if
// it is older than maxAge, and waits for that until ctx ends or wait has passed; refresh goes on.
func (c *cached[T]) get(
	ctx context.Context, maxAge, wait time.Duration, refresh func(ctx context.Context) (T, error),
) (T, time.Time) {
	if value, at := c.last(); time.Since(at) < maxAge {
		return value, at
	}
	refreshed := c.refreshing.DoChan("", func() (any, error) {
		value, err := refresh(context.WithoutCancel(ctx))
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.value, c.at = value, time.Now()
		}
		return nil, err
	})
	select {
	case <-refreshed:
	case <-ctx.Done():
	case <-time.After(wait):
	}
	return c.last()
}

// storageState is the result of a check of the storage.
type storageState struct {
	space audiodir.Space
	err   error
}

// databaseState is the result of the checks of the database.
type databaseState struct {
	reachable, migrated bool
	space               audiodir.Space
	storage             bool   // recordings and texts are accepted
	storageDetail       string // why not
}

// withoutDetails returns what everybody may know.
func (r Report) withoutDetails() Report {
	r.Version, r.Queue, r.Storage = "", nil, nil
	r.Database.Engine = ""
	r.Speech.Model, r.Speech.Detail = "", ""
	return r
}

// report returns the state little later than healthTimeout, whatever hangs.
func (h *health) report(ctx context.Context) Report {
	speech := h.recognizer.Status(ctx)
	r := Report{
		Status:  "degraded",
		Version: h.version,
		Speech: SpeechReport{
			Provider: h.config.ASRProvider, Available: speech.Available, Model: speech.Model, Detail: speech.Reason,
		},
		SpeechAvailable:        speech.Available,
		MiniappAuthConfigured:  h.config.MiniappConfigured(),
		DevelopmentAuthEnabled: h.config.DevelopmentSignIn(),
		DeviceAuthEnabled:      h.config.MiniappConfigured(),
		OAuthName:              h.config.oauthName(),
	}
	if h.db == nil {
		return r
	}
	var counting sync.WaitGroup
	counting.Go(func() { r.Queue = h.queueReport(ctx) })
	state := h.state(ctx)
	counting.Wait()
	r.Database = DatabaseReport{
		Configured: true, Reachable: state.reachable, Migrated: state.migrated, Engine: h.db.engine,
		PoolerMisused: h.db.poolerMisused.Load(),
	}
	r.Storage = &StorageReport{
		FreeBytes: state.space.Free, TotalBytes: state.space.Total, ReserveBytes: state.space.Reserve,
		Detail: state.storageDetail,
	}
	r.StorageAvailable = state.storage
	r.SignInRefused = h.signInRefused()
	r.MiniappAuthConfigured = h.config.MiniappConfigured() && !r.SignInRefused
	if broken(r) == "" {
		r.Status = "ok"
	}
	return r
}

// signInRefused reports whether the platform or the OAuth 2 server refuses this server's
// credentials.
func (h *health) signInRefused() bool {
	return (h.config.MiniappConfigured() || h.config.OAuthConfigured()) && !h.accounts.LoginConfigured()
}

// ready reports whether data endpoints work and the server is not stopping.
func (h *health) ready(ctx context.Context) bool {
	return h.db != nil && !h.stopping.Load() && h.state(ctx).migrated
}

// state returns a recent state of the database, or an empty one if the checks take too long.
func (h *health) state(ctx context.Context) databaseState {
	state, checked := h.database.get(ctx, healthMaxAge, healthTimeout, h.check)
	if time.Since(checked) > healthMaxAge+healthTimeout {
		return databaseState{}
	}
	return state
}

func (h *health) check(ctx context.Context) (databaseState, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var state databaseState
	var checks sync.WaitGroup
	var readOnly bool
	checks.Go(func() {
		var err error
		readOnly, err = h.db.readOnly(ctx)
		state.reachable = err == nil
	})
	checks.Go(func() { state.migrated, _ = h.db.migrated(ctx) })
	var fault error
	checks.Go(func() { state.space, fault = h.checkStorage(ctx) })
	checks.Wait()
	if readOnly {
		fault = errors.Join(fault, errors.New("PostgreSQL is read-only: a standby, or set to be so"))
	}
	if state.storage = fault == nil; !state.storage {
		state.storageDetail = fault.Error()
	}
	return state, nil
}

// checkStorage fails if recordings or texts are refused. If that takes long to find out, which must
// not make the database look away, the check goes on, and the result is that of the last one.
func (h *health) checkStorage(ctx context.Context) (audiodir.Space, error) {
	state, ended := h.storage.get(ctx, 0, storageWait, func(ctx context.Context) (storageState, error) {
		ctx, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		textErr := h.db.lessons.CheckSpace(ctx) // first: the other one may use up the time
		space, err := checkAudio(ctx, h.audio)
		return storageState{space, errors.Join(err, textErr)}, nil
	})
	if state.err == nil && time.Since(ended) > storageMaxAge {
		return audiodir.Space{}, errors.New("the storage does not answer")
	}
	return state.space, state.err
}

// checkAudio fails if uploads are refused. The space of a bucket is unknown.
func checkAudio(ctx context.Context, audio feedback.AudioStore) (audiodir.Space, error) {
	if bucket, ok := audio.(*audios3.Store); ok {
		return audiodir.Space{}, bucket.Check(ctx)
	}
	space, err := audio.(*audiodir.Store).Space()
	if err == nil && space.Full() {
		err = errors.New("fewer bytes are free than are reserved")
	}
	return space, err
}

// queueReport returns nil if jobs were never counted.
func (h *health) queueReport(ctx context.Context) *QueueReport {
	stats, counted := h.jobs(ctx)
	if counted.IsZero() {
		return nil
	}
	r := QueueReport{AgeSeconds: time.Since(counted).Seconds()}
	for _, q := range stats.Queues {
		r.Waiting += q.Waiting + q.Scheduled
		r.Running += q.Running
		r.Failed += q.Failed
		if isPaused(q) {
			r.Paused = append(r.Paused, q.Queue)
		}
	}
	return &r
}

func isPaused(q jobqueue.QueueStats) bool { return time.Now().Before(q.PausedUntil) }

// speechPaused reports whether recordings wait for an operator.
func (h *health) speechPaused(ctx context.Context) bool {
	stats, _ := h.jobs(ctx)
	return isPaused(stats.Queue(speechQueue))
}

// jobs returns the last counts of the queue and when they were counted, the zero time if never. It
// has them counted again where they are old, and does not wait long for that.
func (h *health) jobs(ctx context.Context) (stats jobqueue.Stats, counted time.Time) {
	wait := countWait
	if _, counted = h.stats.last(); counted.IsZero() {
		wait = healthTimeout
	}
	return h.stats.get(ctx, healthMaxAge, wait, func(ctx context.Context) (jobqueue.Stats, error) {
		ctx, cancel := context.WithTimeout(ctx, countTimeout)
		defer cancel()
		return h.db.client.Stats(ctx)
	})
}
