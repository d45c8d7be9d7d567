package local

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"lessonkit.example/asr"
)

const (
	checkTimeout = 2 * time.Second
	// recent is how long a success speaks for a server that is too busy to answer.
	recent = 5 * time.Minute
	// settled is how long a wrong setting, shown by a recording, outweighs a server that says it is healthy.
	settled = 2 * time.Minute
)

// errNotListed is found out about a configured model.
var errNotListed = errors.New("it does not list the model that is configured")

// memory is what has been seen of the server.
type memory struct {
	mu            sync.Mutex
	status        asr.Status
	running       int
	succeeded     time.Time
	misconfigured time.Time
	ep            endpoint
	known         string // the model
	plain         bool   // it refused to give segments
}

func (m *memory) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running++
}

// end records what a recording has shown: a success or a refused connection tells more than any check.
func (m *memory) end(now time.Time, model string, err error, interrupted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
	e, _ := errors.AsType[*asr.Error](err)
	switch {
	case err == nil:
		m.succeeded, m.misconfigured = now, time.Time{}
		m.set(now, true, model, "")
	case interrupted || e == nil:
	case e.Class == asr.ErrMisconfigured || e.Class == asr.ErrRefused:
		m.misconfigured = now
		m.set(now, false, "", e.Message)
	case e.Class == asr.ErrUnavailable && e.Status == 0 && !errors.Is(err, context.DeadlineExceeded):
		m.succeeded = time.Time{}
		m.set(now, false, "", reasonOf(e))
	}
}

func (m *memory) set(now time.Time, available bool, model, reason string) {
	if model == "" {
		model = m.status.Model
	}
	m.status = asr.Status{Available: available, Provider: "local", Model: model, Reason: reason, CheckedAt: now.UTC().Truncate(time.Microsecond)}
}

func (m *memory) endpoint() (endpoint, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ep, m.ep.url != ""
}

func (m *memory) setEndpoint(ep endpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ep = ep
}

func (m *memory) model() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

func (m *memory) setModel(model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = model
}

// forgetModel drops the model that the server has refused, and tells whether asking again can give another one.
func (m *memory) forgetModel(used string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == used {
		m.known = ""
		return used != ""
	}
	return m.known != "" || used != fallbackModel // somebody else was quicker
}

func (m *memory) plainOnly() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plain
}

func (m *memory) setPlainOnly() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plain = true
}

// Status returns what was last seen, by Run, by Check or by a recording. See [asr.Recognizer].
func (r *Recognizer) Status(context.Context) asr.Status {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	return r.memory.status
}

// Run checks the server now and then every Config.CheckInterval, until ctx ends. It returns nil then.
func (r *Recognizer) Run(ctx context.Context) error {
	ticker := time.NewTicker(r.cfg.checkInterval())
	defer ticker.Stop()
	var last asr.Status
	for {
		s := r.Check(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if s.Available != last.Available || s.Reason != last.Reason {
			r.log.InfoContext(ctx, "recogniser checked", "available", s.Available, "model", s.Model, "reason", s.Reason)
		}
		last = s
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Check asks the server for its health now, for at most some seconds, and returns the status that Status gives from then on. It never sends audio.
func (r *Recognizer) Check(ctx context.Context) asr.Status {
	model, err := r.check(ctx)
	now := r.now()
	m := &r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		// Some servers answer nothing while they work.
		switch {
		case m.running > 0:
			m.set(now, true, model, "busy with a recording")
		case !m.succeeded.IsZero() && now.Sub(m.succeeded) < recent:
			m.set(now, true, model, "busy; a recording succeeded lately")
		default:
			m.set(now, false, model, "no answer within "+checkTimeout.String())
		}
	case errors.Is(err, errNotListed) && !m.succeeded.IsZero():
		// A server may know a model by a name that it does not list.
		m.set(now, true, model, "")
	case err != nil:
		m.set(now, false, model, reasonOf(err))
	case !m.misconfigured.IsZero() && now.Sub(m.misconfigured) < settled:
		// The server is there, but a recording has shown that a setting is wrong.
	default:
		m.set(now, true, model, "")
	}
	return m.status
}

// check follows the servers' different ideas of health. err says why the server is not ready.
func (r *Recognizer) check(ctx context.Context) (model string, err error) {
	deadline, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var healthy bool
	for _, path := range []string{"health", "readyz"} {
		for _, url := range r.target.health(path) {
			status, body, err := r.get(deadline, url)
			if err != nil {
				return "", err
			}
			switch {
			case status == http.StatusOK && looksHTML(body), status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
				continue
			case status == http.StatusOK:
				var health struct {
					Loaded *[]any `json:"models_loaded"`
				}
				if json.Unmarshal(body, &health) == nil && health.Loaded != nil && len(*health.Loaded) == 0 {
					return "", &asr.Error{Op: op, Message: "no model is loaded yet"}
				}
				healthy = true
			default:
				return "", &asr.Error{Op: op, Status: status, Message: "it says that it is not ready: " + errorText(body)}
			}
			break
		}
		if healthy {
			break
		}
	}
	list, status, err := r.models(deadline)
	switch {
	case err != nil:
		return "", err
	case status == http.StatusOK:
		return r.pick(list)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "", &asr.Error{Op: op, Status: status, Message: "the key is missing or wrong"}
	case healthy:
		return r.target.model, nil
	}
	if r.target.fixed != nil {
		_, sure, err := r.probe(deadline, &endpoint{url: r.target.fixed.url})
		if err == nil && !sure {
			err = &asr.Error{Op: op, Status: http.StatusNotFound, Message: "no recogniser at this address"}
		}
		return r.target.model, err
	}
	_, err = r.endpoint(ctx)
	return r.target.model, err
}

// pick finds the model that recordings will be sent to in the server's list.
func (r *Recognizer) pick(list []listed) (string, error) {
	if len(list) == 0 {
		return "", &asr.Error{Op: op, Message: "it lists no model; download one into the server"}
	}
	if r.target.model == "" {
		m := choose(list)
		for _, l := range list {
			if l.ID == m && l.Ready != nil && !*l.Ready {
				return m, &asr.Error{Op: op, Message: "no model is ready yet"}
			}
		}
		return m, nil
	}
	for _, l := range list {
		if l.ID == r.target.model {
			if l.Ready != nil && !*l.Ready {
				return l.ID, &asr.Error{Op: op, Message: "the model is not ready yet"}
			}
			return l.ID, nil
		}
	}
	return r.target.model, errNotListed
}

// reasonOf is an error's words without the prefix that every error of this package has.
func reasonOf(err error) string {
	e, ok := errors.AsType[*asr.Error](err)
	if !ok {
		return err.Error()
	}
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}
