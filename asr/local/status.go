package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

const (
	checkInterval = 15 * time.Second
	checkTimeout  = 2 * time.Second
	// busyLimit is how long after a success a server that does not answer is presumed to be busy.
	busyLimit = 5 * time.Minute
	// misconfiguredFor and failingFor are how long a recording that has shown a wrong setting, or
	// the last of several that have all failed, outweighs successful health checks.
	misconfiguredFor = 2 * time.Minute
	failingFor       = 15 * time.Minute
)

// Causes that count only until a recording has succeeded.
var (
	errModelNotListed = errors.New("it does not list the model that is configured")
	errListRefused    = errors.New("the list of models is refused")
)

// health is the status of the server and what it is based on.
type health struct {
	mu        sync.Mutex
	status    asr.Status
	succeeded time.Time // last success of a recording
	badUntil  time.Time // until then successful health checks do not count
	down      time.Time // start of the outage; zero if the server has answered since
}

// ended records the result of a recording. A success or a refused connection is more reliable than
// any health check.
func (r *Recognizer) ended(t asr.Transcript, err error, failing bool) {
	h := &r.health
	h.mu.Lock()
	defer h.mu.Unlock()
	e, _ := errors.AsType[*asr.Error](err)
	unsupported, isLanguage := errors.AsType[languageError](err)
	switch now := time.Now(); {
	case err == nil:
		h.succeeded, h.badUntil = now, time.Time{}
		r.answered()
		h.set(true, t.Model, "")
	case e == nil:
	case isLanguage && unsupported.language != r.language(asr.Audio{}):
		// The language of a recording says nothing about the server.
	case failing:
		h.badUntil = now.Add(failingFor)
		h.set(false, "", reason(e))
	case e.Class == asr.ErrLost:
		r.base.Lost(r.answers)
		h.set(false, "", reason(e))
	case e.Class == asr.ErrMisconfigured || e.Class == asr.ErrRefused:
		h.badUntil = now.Add(misconfiguredFor)
		switch {
		case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden,
			e.Status == http.StatusNotFound, errors.Is(err, errNoModel):
			h.succeeded = time.Time{} // the key, the address or the model has become wrong
		}
		h.set(false, "", reason(e))
	case e.Class == asr.ErrUnavailable && e.Status == 0:
		if h.down.IsZero() {
			h.down = now
		}
		if e.After == 0 { // soon after a restart, seldom during a long outage
			e.After = min(max(now.Sub(h.down), time.Second), maxOutageDelay)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			if e.Op == op { // not that of the conversion, which says nothing about the server
				r.base.Unsent(r.answersOrWorks)
			}
			h.succeeded = time.Time{}
			h.set(false, "", reason(e))
		}
	}
}

// maxOutageDelay is the longest delay of a recording while the server cannot be reached.
const maxOutageDelay = 15 * time.Second

// answered records that the server is there. r.health.mu is held.
func (r *Recognizer) answered() {
	r.base.Answered()
	r.health.down = time.Time{}
}

// answers asks the server, without audio, whether it is there.
func (r *Recognizer) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	healthy, err := r.healthy(ctx)
	if err == nil && !healthy {
		var ep endpoint
		if ep, err = r.endpoint(ctx); err == nil {
			_, _, err = r.probe(ctx, &ep)
		}
	}
	if err == nil {
		r.health.mu.Lock()
		defer r.health.mu.Unlock()
		r.health.down = time.Time{}
	}
	return err
}

// answersOrWorks is answers, except that no answer in time is no error: some servers answer nothing
// while they work.
func (r *Recognizer) answersOrWorks(ctx context.Context) error {
	if err := r.answers(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func (h *health) set(available bool, model, reason string) {
	if model == "" {
		model = h.status.Model
	}
	h.status = asr.Status{
		Available: available, Provider: "local", Model: model, Reason: reason,
		CheckedAt: time.Now().UTC(),
	}
}

// Status returns the result of the last check or recording. See [asr.Recognizer].
func (r *Recognizer) Status(context.Context) asr.Status {
	r.health.mu.Lock()
	defer r.health.mu.Unlock()
	return r.health.status
}

// Run checks the server at once and then every 15 seconds, until ctx ends. It returns nil then.
//
// A check is a few GET requests: for the health of the server, and for its models. Each process
// makes its own.
func (r *Recognizer) Run(ctx context.Context) error {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	var last asr.Status
	for {
		s := r.Check(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if s.Available != last.Available || s.Reason != last.Reason {
			level := slog.LevelInfo
			if !s.Available {
				level = slog.LevelWarn
			}
			r.log.Log(ctx, level, "recogniser checked",
				"available", s.Available, "model", s.Model, "reason", s.Reason)
		}
		last = s
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Check queries the health of the server, for at most a few seconds, and returns the status that
// Status returns from then on. It sends no audio.
func (r *Recognizer) Check(ctx context.Context) asr.Status {
	model, err := r.check(ctx)
	h := &r.health
	h.mu.Lock()
	defer h.mu.Unlock()
	bad := time.Now().Before(h.badUntil)
	if (bad || !h.succeeded.IsZero()) && (errors.Is(err, errModelNotListed) || errors.Is(err, errListRefused)) {
		err = nil // it accepts the model by another name than it lists, or recordings only
	}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		// Some servers answer nothing while they work.
		switch {
		case r.running.Load() > 0:
			h.set(true, model, "busy with a recording")
		case !h.succeeded.IsZero() && time.Since(h.succeeded) < busyLimit && !bad:
			h.set(true, model, "busy; a recording succeeded recently")
		default:
			h.set(false, model, "no answer within "+checkTimeout.String())
		}
	case err != nil:
		h.set(false, model, reason(err))
	case bad:
		r.answered()
	default:
		r.answered()
		h.set(true, model, "")
	}
	return h.status
}

// check follows the different health interfaces of the servers. err tells why the server is not
// ready.
func (r *Recognizer) check(ctx context.Context) (model string, err error) {
	deadline, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	healthy, err := r.healthy(deadline)
	if err != nil {
		return "", err
	}
	list, status, err := r.models(deadline)
	switch {
	case err != nil:
		return "", err
	case status == http.StatusOK:
		return r.checkModel(list)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "", &asr.Error{Op: op, Status: status, Message: "the key is missing or wrong", Err: errListRefused}
	case healthy || r.found():
		return r.target.model, nil
	}
	if r.target.fixed == nil {
		_, err = r.endpoint(ctx)
		return r.target.model, err
	}
	_, sure, err := r.probe(deadline, &endpoint{url: r.target.fixed.url})
	switch {
	case err == nil && !sure:
		err = &asr.Error{Op: op, Status: http.StatusNotFound, Message: "no recogniser at this address"}
	case err == nil:
		r.remember(ctx, *r.target.fixed)
	}
	return r.target.model, err
}

// healthy reports whether the server has a health endpoint that returns success. err tells why one
// returned something else.
func (r *Recognizer) healthy(ctx context.Context) (bool, error) {
	for _, url := range r.target.healthURLs() {
		status, body, err := r.get(ctx, url)
		switch {
		case err != nil:
			return false, err
		case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
			message := "the server is not ready: " + provider.Excerpt(errorText(r.hide(body)), asr.Audio{})
			return false, &asr.Error{Op: op, Status: status, Message: strings.TrimSuffix(message, ": ")}
		case status >= 300, provider.IsHTML(body), isRuntime(body):
			continue // not the health of a recogniser, or not for everybody
		}
		var answer struct {
			Loaded *[]any `json:"models_loaded"`
		}
		if json.Unmarshal(body, &answer) == nil && answer.Loaded != nil && len(*answer.Loaded) == 0 {
			return false, &asr.Error{Op: op, Message: "no model is loaded yet"}
		}
		return true, nil
	}
	return false, nil
}

// checkModel returns the model that recordings will be sent to, and why it is not ready.
func (r *Recognizer) checkModel(list []modelInfo) (string, error) {
	if len(list) == 0 {
		return "", &asr.Error{Op: op, Message: "it lists no model; download one into the server"}
	}
	m, ok := find(list, r.target.model)
	if !ok {
		return r.target.model, errModelNotListed
	}
	switch err := m.checkLanguage(provider.PrimaryLanguage(r.target.language)); {
	case err != nil:
		return m.ID, err
	case m.loading():
		return m.ID, &asr.Error{Op: op, Message: "the model is not ready yet"}
	}
	return m.ID, nil
}

// reason returns the message, the HTTP status and the cause of an error, without the prefix of an
// *asr.Error.
func reason(err error) string {
	e, ok := errors.AsType[*asr.Error](err)
	if !ok {
		return err.Error()
	}
	text := e.Message
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return strings.TrimPrefix(text, ": ")
}
