package feedbackhttp

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/internal/httpapi"
)

// gate limits how many requests run at once: those of each teacher, and all. A limit below 0 is
// no limit.
type gate struct {
	each, all int

	mu    sync.Mutex
	total int
	of    map[uuid.UUID]int
}

func newGate(each, all int) *gate {
	return &gate{each: each, all: all, of: map[uuid.UUID]int{}}
}

// enter returns an error if a limit is reached; otherwise the caller calls leave.
func (g *gate) enter(teacher uuid.UUID) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.each >= 0 && g.of[teacher] >= g.each:
		return nil, tooMany("the same teacher's other requests are still running; wait for their answers")
	case g.all >= 0 && g.total >= g.all:
		return nil, busy()
	}
	g.of[teacher]++
	g.total++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.total--
		if g.of[teacher]--; g.of[teacher] == 0 {
			delete(g.of, teacher)
		}
	}, nil
}

// durationKey is a key of an operation's metadata. Its values are the marks of operations that last
// and hold little memory.
const durationKey = "duration"

var (
	lasting = map[string]any{durationKey: "lasting"} // for seconds or minutes
	endless = map[string]any{durationKey: "endless"} // until the client goes away
)

// maxWait is how long a request waits for the answers to others.
const maxWait = 2 * time.Second

// enter admits a request of a teacher, until the caller calls leave when the answer is written.
func (s *server) enter(ctx huma.Context, teacher uuid.UUID) (leave func(), err error) {
	duration := ctx.Operation().Metadata[durationKey]
	if duration == endless[durationKey] {
		return func() {}, nil // these have a gate of their own
	}
	leaveRequests, err := s.requests.enter(teacher)
	if err != nil || duration == lasting[durationKey] {
		return leaveRequests, err
	}
	wait, cancel := context.WithTimeout(ctx.Context(), maxWait)
	defer cancel()
	if s.answers.Acquire(wait, 1) != nil {
		leaveRequests()
		return nil, busy()
	}
	return func() { s.answers.Release(1); leaveRequests() }, nil
}

func busy() error { return tooMany("the server has as many of these requests as it takes; try again") }

func tooMany(detail string) *httpapi.Problem {
	return httpapi.Error(http.StatusTooManyRequests, "too_many_requests", detail).WithRetryAfter(5 * time.Second)
}
