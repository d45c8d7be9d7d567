package driver

import (
	"slices"
	"strings"
	"time"
)

// Filter selects jobs: see jobqueue.Filter.
type Filter struct {
	State       State
	Queue, Kind string // empty: all
	Before      int64  // only jobs with lower ids
	Limit       int    // how many, the newest; positive
}

// SearchWindow is the number of ids that one Search reads, and ListWindow the number of jobs that
// one List reads.
const (
	SearchWindow = 100_000
	ListWindow   = 25_000
)

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
	After int64         // only jobs with ids greater than this
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

// QueueStats counts the jobs of one queue: see jobqueue.QueueStats.
type QueueStats struct {
	Queue                                                string
	Waiting, Scheduled, Running, Held, Failed, Cancelled int
	Oldest                                               time.Duration // 0 when none waits
	PausedUntil                                          time.Time     // zero when it is not paused
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

// GroupStats counts the jobs of a group: see jobqueue.GroupStats.
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

// WorkerInfo describes a worker process: see jobqueue.WorkerInfo.
type WorkerInfo struct {
	ID                   int64
	Name                 string
	StartedAt, ExpiresAt time.Time
	Queues               []string
}

const (
	WaitBuckets = 60                 // counters in Minute.Waits
	KeepMinutes = 7 * 24 * time.Hour // how long an engine keeps a Minute
)

// Minute is what workers did with the jobs of a queue in one minute.
type Minute struct {
	Queue            string
	At               time.Time // its beginning; AddMinutes ignores it
	Finished, Failed int
	Waits            [WaitBuckets]int // started jobs by how long they waited: see jobqueue.waitBucket
}
