package jobtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// store is a queue of one job. It has the methods that a worker calls.
type store struct {
	driver.Store // nil

	mu     sync.Mutex
	job    driver.Job
	delays []time.Duration
	starts int
	wake   func(driver.Signal) bool
	failed string        // why the job cannot end
	ended  chan struct{} // closed when the job has ended or cannot end
}

// Insert makes the job of the only record.
func (s *store) Insert(_ context.Context, rs []driver.Record) ([]driver.InsertResult, error) {
	r, now := rs[0], time.Now()
	s.job = driver.Job{
		ID: 1, Queue: r.Queue, Kind: r.Kind, Priority: r.Priority, MaxAttempts: r.MaxAttempts, Args: r.Args,
		UniqueKey: r.UniqueKey, LimitKey: r.LimitKey, Group: r.Group, AfterGroup: r.AfterGroup,
		Meta: driver.DecodeMeta(r.Meta), CreatedAt: now, RunAt: now, State: driver.StateWaiting,
	}
	return []driver.InsertResult{{ID: 1}}, nil
}

// fail gives the job up.
func (s *store) fail(reason string) {
	if s.failed == "" {
		s.failed = reason
		close(s.ended)
	}
}

func (s *store) copy() *driver.Job {
	job := s.job
	job.Errors = slices.Clone(job.Errors)
	return &job
}

func (s *store) Check(context.Context) error { return nil }

func (s *store) Register(context.Context, string, []string, time.Duration) (int64, error) {
	return 1, nil
}

func (s *store) Heartbeat(context.Context, int64, time.Duration) ([]int64, bool, error) {
	return nil, true, nil
}

// Save stores nothing: results have the saved states too.
func (s *store) Save(context.Context, int64, []driver.Saved) error { return nil }

func (s *store) NextCancelled(context.Context, []string, time.Duration) (int64, error) { return 0, nil }

func (s *store) Rescue(context.Context, bool) (int, error) { return 0, nil }

func (s *store) AddMinutes(context.Context, []driver.Minute) error { return nil }

func (s *store) Purge(context.Context, driver.PurgeFilter) (int, error) { return 0, nil }

func (s *store) Get(_ context.Context, id int64) (*driver.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != s.job.ID {
		return nil, fmt.Errorf("job %d: %w", id, driver.ErrNotFound)
	}
	return s.copy(), nil
}

func (s *store) Release(_ context.Context, _ int64, keep []driver.Lease, _ bool) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lease := driver.Lease{ID: s.job.ID, Fence: s.job.Fence}
	if s.job.State != driver.StateRunning || slices.Contains(keep, lease) {
		return 0, nil
	}
	s.job.State, s.job.Worker = driver.StateWaiting, 0
	s.job.Fence++
	s.job.Attempt--
	return 1, nil
}

// Listen has the worker look for the job as soon as it waits again, whatever its delay.
func (s *store) Listen(ctx context.Context, ready func(), wake func(driver.Signal) bool) error {
	s.mu.Lock()
	s.wake = wake
	s.mu.Unlock()
	ready()
	<-ctx.Done()
	return ctx.Err()
}

func (s *store) Exchange(_ context.Context, x driver.ExchangeRequest) (res driver.ExchangeResponse, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range x.Results {
		if s.job.State != driver.StateRunning || r.Lease != (driver.Lease{ID: s.job.ID, Fence: s.job.Fence}) {
			res.Lost = append(res.Lost, r.Lease)
			continue
		}
		s.record(r)
	}
	if len(x.Claims) == 0 || s.job.State != driver.StateWaiting {
		return res, nil
	}
	switch {
	case x.Kinds != nil && !slices.Contains(x.Kinds, s.job.Kind):
		s.fail("no handler is registered for its kind")
	case s.starts == maxAttempts:
		s.fail(fmt.Sprintf("it has not ended after %d attempts", maxAttempts))
	default:
		res.Jobs = append(res.Jobs, s.claim(x.Worker))
	}
	return res, nil
}

func (s *store) claim(worker int64) *driver.Job {
	s.starts++
	s.job.Attempt++
	s.job.Fence++
	s.job.State, s.job.Worker, s.job.ClaimedAt = driver.StateRunning, worker, time.Now()
	// What a claim returns has no more fields than these.
	return &driver.Job{
		ID: s.job.ID, Queue: s.job.Queue, Kind: s.job.Kind, Priority: s.job.Priority, Attempt: s.job.Attempt,
		MaxAttempts: s.job.MaxAttempts, Args: slices.Clone(s.job.Args), CreatedAt: s.job.CreatedAt,
		RunAt: s.job.RunAt, Worker: worker, Fence: s.job.Fence, ClaimedAt: s.job.ClaimedAt, State: s.job.State,
		LimitKey: s.job.LimitKey, Group: s.job.Group, AfterGroup: s.job.AfterGroup, Meta: s.job.Meta,
		Saved: slices.Clone(s.job.Saved),
	}
}

func (s *store) record(r driver.Result) {
	if r.Error.Error != "" {
		r.Error.At = time.Now()
		s.job.Errors = append(s.job.Errors, r.Error)
	}
	if r.Saved != nil {
		s.job.Saved = r.Saved
	}
	s.job.Worker = 0
	if r.Action == driver.Reschedule {
		s.job.State = driver.StateWaiting
		if r.Uncounted {
			s.job.Attempt--
		}
		s.delays = append(s.delays, r.Delay)
		if s.wake != nil {
			go s.wake(driver.Signal{Queue: s.job.Queue})
		}
		return
	}
	s.job.State = map[driver.Action]driver.State{
		driver.Complete: driver.StateSucceeded, driver.Fail: driver.StateFailed, driver.Cancel: driver.StateCancelled,
	}[r.Action]
	if s.job.MaxAttempts >= 0 {
		s.job.Attempt = min(s.job.Attempt, s.job.MaxAttempts) // without the calls of the OnFailed callback
	}
	s.job.FinishedAt = time.Now()
	close(s.ended)
}
