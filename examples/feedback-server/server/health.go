package server

import (
	"context"
	"sync"
	"time"

	"lessonkit.example/jobqueue"
)

// Report is the answer of GET /health.
type Report struct {
	Status   string         `json:"status" enum:"ok,degraded" doc:"ok when data endpoints work and speech is recognised."`
	Version  string         `json:"version"`
	Database DatabaseReport `json:"database"`
	Speech   SpeechReport   `json:"speech"`
	Queue    QueueReport    `json:"queue"`

	SpeechAvailable        bool `json:"speech_available" doc:"The recogniser can take jobs."`
	MiniappAuthConfigured  bool `json:"miniapp_auth_configured" doc:"Production sign-in is ready."`
	DevelopmentAuthEnabled bool `json:"development_auth_enabled" doc:"The development header is accepted."`
}

// DatabaseReport is the state of the database.
type DatabaseReport struct {
	Configured bool   `json:"configured"`
	Reachable  bool   `json:"reachable"`
	Migrated   bool   `json:"migrated"`
	Engine     string `json:"engine,omitempty" enum:"postgres,sqlite"`
}

// SpeechReport is the state of the recogniser, as last seen in the background.
type SpeechReport struct {
	Provider  string `json:"provider" enum:"local,cloud"`
	Available bool   `json:"available"`
	Model     string `json:"model"`
	Detail    string `json:"detail" doc:"Why it is not available, or what was seen."`
}

// QueueReport counts background jobs, each number up to a bound of 10001.
type QueueReport struct {
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
}

const (
	healthPatience = 1500 * time.Millisecond // a check that takes longer counts as failed
	healthMemory   = 2 * time.Second         // how long a result is served again
)

// health looks after the answer of GET /health: checks run side by side under
// a time limit, once for all who ask at the same time, and are remembered.
type health struct {
	server *Server

	mu      sync.Mutex
	report  databaseState
	checked time.Time
	running chan struct{} // closed when the check under way ends; nil: none
}

// databaseState is what must be asked for; the rest is known.
type databaseState struct {
	reachable, migrated bool
	queue               QueueReport
}

func newHealth(s *Server) *health { return &health{server: s} }

// Report returns the state within a bit more than healthPatience, whatever hangs.
func (h *health) Report(ctx context.Context) Report {
	s := h.server
	state := databaseState{}
	if s.db != nil {
		state = h.state(ctx)
	}
	speech := s.speech.Status(ctx)
	r := Report{
		Version: s.version,
		Database: DatabaseReport{
			Configured: s.db != nil,
			Reachable:  state.reachable,
			Migrated:   state.migrated,
		},
		Speech: SpeechReport{Provider: s.config.ASRProvider, Available: speech.Available, Model: speech.Model, Detail: speech.Reason},
		Queue:  state.queue,

		SpeechAvailable:        speech.Available,
		MiniappAuthConfigured:  s.config.MiniappConfigured() && (s.auth == nil || s.auth.LoginConfigured()),
		DevelopmentAuthEnabled: s.config.DevelopmentSignIn(),
	}
	if s.db != nil {
		r.Database.Engine = string(s.db.Engine)
	}
	r.Status = "degraded"
	if state.migrated && speech.Available {
		r.Status = "ok"
	}
	return r
}

// Ready tells whether data endpoints work and will for some time.
func (h *health) Ready(ctx context.Context) bool {
	return h.server.db != nil && !h.server.stopping.Load() && h.state(ctx).migrated
}

// state returns a fresh enough state, or an empty one when finding out takes too long.
func (h *health) state(ctx context.Context) databaseState {
	h.mu.Lock()
	if time.Since(h.checked) < healthMemory {
		defer h.mu.Unlock()
		return h.report
	}
	if h.running == nil {
		h.running = make(chan struct{})
		// Not the caller's context: others wait for the same result.
		go h.check(context.WithoutCancel(ctx), h.running)
	}
	running := h.running
	h.mu.Unlock()

	patience := time.NewTimer(healthPatience)
	defer patience.Stop()
	select {
	case <-running:
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.report
	case <-patience.C:
	case <-ctx.Done():
	}
	return databaseState{}
}

func (h *health) check(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	var state databaseState
	var checks sync.WaitGroup
	checks.Go(func() { state.reachable = h.server.db.R.PingContext(ctx) == nil })
	checks.Go(func() { state.migrated, _ = h.server.Migrated(ctx) })
	checks.Go(func() { state.queue = countJobs(ctx, h.server.client) })
	checks.Wait()

	h.mu.Lock()
	defer h.mu.Unlock()
	h.report, h.checked, h.running = state, time.Now(), nil
	close(done)
}

func countJobs(ctx context.Context, c *jobqueue.Client) (r QueueReport) {
	stats, err := c.Stats(ctx)
	if err != nil {
		return r
	}
	for _, q := range stats.Queues {
		r.Waiting += q.Waiting + q.Scheduled
		r.Running += q.Running
		r.Failed += q.Failed
	}
	return r
}
