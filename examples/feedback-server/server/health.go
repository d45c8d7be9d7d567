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
	StorageAvailable       bool `json:"storage_available" doc:"Recordings and texts have space; a bucket answers."`
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
// timeout, once for all concurrent callers.
type health struct {
	config     Config
	version    string
	db         *database           // nil if none is configured
	audio      feedback.AudioStore // nil without a database
	accounts   *auth.Service       // nil without a database
	recognizer asr.Recognizer
	stopping   *atomic.Bool

	checks singleflight.Group

	mu      sync.Mutex
	last    databaseState
	checked time.Time
	storage storageState
	stats   jobqueue.Stats
	counted time.Time // zero: never
}

// storageState is the result of the last check of the storage that has ended.
type storageState struct {
	space audiodir.Space
	err   error
	ended time.Time
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
	r.SignInRefused = (h.config.MiniappConfigured() || h.config.OAuthConfigured()) && !h.accounts.LoginConfigured()
	r.MiniappAuthConfigured = h.config.MiniappConfigured() && !r.SignInRefused
	if broken(r) == "" {
		r.Status = "ok"
	}
	return r
}

// ready reports whether data endpoints work and the server is not stopping.
func (h *health) ready(ctx context.Context) bool {
	return h.db != nil && !h.stopping.Load() && h.state(ctx).migrated
}

// state returns a recent state of the database, or an empty one if the checks take too long.
func (h *health) state(ctx context.Context) databaseState {
	h.mu.Lock()
	last, age := h.last, time.Since(h.checked)
	h.mu.Unlock()
	if age < healthMaxAge {
		return last
	}
	// Other callers wait for the same result: the end of this request does not cancel it.
	shared := context.WithoutCancel(ctx)
	result := h.checks.DoChan("", func() (any, error) { return h.check(shared), nil })
	select {
	case r := <-result:
		return r.Val.(databaseState)
	case <-ctx.Done():
	case <-time.After(healthTimeout):
	}
	return databaseState{}
}

func (h *health) check(ctx context.Context) databaseState {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var state databaseState
	var checks sync.WaitGroup
	checks.Go(func() { state.reachable = h.db.read.PingContext(ctx) == nil })
	checks.Go(func() { state.migrated, _ = h.db.migrated(ctx) })
	checks.Go(func() {
		space, err := h.checkStorage(ctx)
		state.space, state.storage = space, err == nil
		if err != nil {
			state.storageDetail = err.Error()
		}
	})
	checks.Wait()

	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.checked = state, time.Now()
	return state
}

// checkStorage fails if recordings or texts are refused. If that takes long to find out, which must
// not make the database look away, the check goes on, and the result is that of the last one.
func (h *health) checkStorage(ctx context.Context) (audiodir.Space, error) {
	result := h.checks.DoChan("storage", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
		defer cancel()
		textErr := h.db.lessons.CheckSpace(ctx) // first: the other one may use up the time
		space, err := checkAudio(ctx, h.audio)
		err = errors.Join(err, textErr)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.storage = storageState{space, err, time.Now()}
		return space, err
	})
	select {
	case r := <-result:
		return r.Val.(audiodir.Space), r.Err
	case <-time.After(storageWait):
		h.mu.Lock()
		defer h.mu.Unlock()
		if last := h.storage; last.err != nil || time.Since(last.ended) < storageMaxAge {
			return last.space, last.err
		}
		return audiodir.Space{}, errors.New("the storage does not answer")
	}
}

// checkAudio fails if uploads are refused. The space of a bucket is unknown.
func checkAudio(ctx context.Context, audio feedback.AudioStore) (audiodir.Space, error) {
	switch audio := audio.(type) {
	case *audios3.Store:
		return audiodir.Space{}, audio.Check(ctx)
	case *audiodir.Store:
		space, err := audio.Space()
		if err == nil && space.Full() {
			err = errors.New("fewer bytes are free than are reserved")
		}
		return space, err
	}
	return audiodir.Space{}, errors.New("the store of recordings has no check")
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
	last := func() (jobqueue.Stats, time.Time) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.stats, h.counted
	}
	stats, counted = last()
	if time.Since(counted) < healthMaxAge {
		return stats, counted
	}
	counting := h.checks.DoChan("jobs", func() (any, error) { return nil, h.count(context.WithoutCancel(ctx)) })
	wait := countWait
	if counted.IsZero() {
		wait = healthTimeout
	}
	select {
	case <-counting:
	case <-ctx.Done():
	case <-time.After(wait):
	}
	return last()
}

func (h *health) count(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	stats, err := h.db.client.Stats(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats, h.counted = stats, time.Now()
	return nil
}
