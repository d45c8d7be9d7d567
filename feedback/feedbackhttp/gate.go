package feedbackhttp

import (
	"net/http"
	"sync"
	"time"

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
		return nil, tooMany("the server has as many of these requests as it takes; try again")
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

func tooMany(detail string) *httpapi.Problem {
	return httpapi.Error(http.StatusTooManyRequests, "too_many_requests", detail).WithRetryAfter(5 * time.Second)
}
