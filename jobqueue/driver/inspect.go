package driver

import (
	"slices"
	"strings"
	"time"
)

// Filter selects jobs to list.
type Filter struct {
	State State  // required
	Queue string // empty: every queue
	Kind  string // empty: every kind
	// Before, when not 0, continues after a page whose last job had this id.
	Before int64
	// Limit defaults to 50 and is at most 1000.
	Limit int
}

// SearchWindow is the number of ids that one Search reads.
const SearchWindow = 100_000

// Page is the result of a change of several jobs.
type Page struct {
	Changed, Skipped int
	Last             int64 // the least id, after which the next page begins; 0 after the last page
}

// PurgeFilter selects finished jobs to delete.
type PurgeFilter struct {
	State State         // StateSucceeded, StateFailed or StateCancelled
	Queue string        // required
	Age   time.Duration // at least this long since they finished
}

// StatsLimit is where Stats stops counting: StatsLimit+1 means "more".
const StatsLimit = 10_000

// Stats is a summary of all queues and workers.
type Stats struct {
	Queues  []QueueStats // by name
	Workers []WorkerInfo // by id
}

// AddWorker adds a worker, and its queues if they have no jobs.
func (s *Stats) AddWorker(w WorkerInfo) {
	s.Workers = append(s.Workers, w)
	for _, name := range w.Queues {
		s.Queue(name)
	}
}

// Queue returns the entry of a queue, which it adds if there is none.
func (s *Stats) Queue(name string) *QueueStats {
	i, found := slices.BinarySearchFunc(s.Queues, name, func(q QueueStats, name string) int {
		return strings.Compare(q.Queue, name)
	})
	if !found {
		s.Queues = slices.Insert(s.Queues, i, QueueStats{Queue: name})
	}
	return &s.Queues[i]
}

// QueueStats counts the jobs of one queue. Every count is at most StatsLimit+1. Failed and
// Cancelled consider only the newest StatsLimit+1 jobs of all queues together.
type QueueStats struct {
	Queue     string
	Waiting   int
	Scheduled int
	Running   int
	Held      int // wait for another job of their serial key, or for a group
	Failed    int
	Cancelled int
	// Oldest is how long the job that has waited longest could have started already, since its
	// RunAt or since it was enqueued if that was later; 0 when none waits.
	Oldest time.Duration
	// PausedUntil is the end of the pause; zero when the queue is not paused.
	PausedUntil time.Time
}

// Set sets the number of running, held, failed or cancelled jobs.
func (q *QueueStats) Set(state State, n int) {
	switch state {
	case StateRunning:
		q.Running = n
	case StateHeld:
		q.Held = n
	case StateFailed:
		q.Failed = n
	case StateCancelled:
		q.Cancelled = n
	}
}

// GroupStats counts the jobs of a group, each count up to StatsLimit+1.
type GroupStats struct {
	Unfinished, Succeeded, Failed, Cancelled int
}

// Set sets the number of jobs in a state; all unfinished states are the same.
func (g *GroupStats) Set(state State, n int) {
	switch state {
	case StateSucceeded:
		g.Succeeded = n
	case StateFailed:
		g.Failed = n
	case StateCancelled:
		g.Cancelled = n
	default:
		g.Unfinished = n
	}
}

// WorkerInfo describes a worker process.
type WorkerInfo struct {
	ID        int64
	Name      string
	StartedAt time.Time
	ExpiresAt time.Time // of its lease
	Queues    []string  // that it serves; none if its program is older than this field
}
