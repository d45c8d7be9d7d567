package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Limits of MemoryTasks.
const (
	maxTasks         = 256 // unfinished
	maxTasksOfCaller = 16  // unfinished
	retention        = 24 * time.Hour
)

// MemoryTasks is a [Tasks] in memory: its tasks are lost at a restart. It keeps a task for 24 hours
// after it has ended, and deletes its images then.
type MemoryTasks struct {
	performer Performer
	workers   int
	queue     chan *memoryTask
	stopped   chan struct{}

	mu    sync.Mutex
	tasks map[string]*memoryTask
}

type memoryTask struct {
	Task
	done chan struct{}
}

// NewMemoryTasks returns a MemoryTasks that performs the given number of tasks at a time. It
// performs none before [MemoryTasks.Run] runs.
func NewMemoryTasks(p Performer, workers int) *MemoryTasks {
	return &MemoryTasks{performer: p, workers: workers, queue: make(chan *memoryTask, maxTasks),
		stopped: make(chan struct{}), tasks: map[string]*memoryTask{}}
}

// Run performs tasks until ctx ends, which also ends those under way. It must be called once.
func (m *MemoryTasks) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range m.workers {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case t := <-m.queue:
					m.perform(ctx, t)
				}
			}
		})
	}
	workers.Wait()
	close(m.stopped)
	return nil
}

// perform performs a task, and puts it into the queue later if it has to be performed again.
func (m *MemoryTasks) perform(ctx context.Context, t *memoryTask) {
	m.mu.Lock()
	task := t.Task
	m.mu.Unlock()
	save := func(p Progress) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		t.Progress = p
		return nil
	}
	var again interface{ RetryAfter() time.Duration }
	switch err := m.performer.Perform(ctx, &task, 1, save); {
	case errors.As(err, &again):
		time.AfterFunc(again.RetryAfter(), func() { m.queue <- t }) // it has room for all unfinished tasks
	case !task.Ended.IsZero():
		close(t.done)
	}
}

// Add implements [Tasks].
func (m *MemoryTasks) Add(_ context.Context, p Params) (id string, added bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	unfinished, own := 0, 0
	for id, t := range m.tasks {
		switch {
		case !t.Ended.IsZero() && time.Since(t.Ended) > retention:
			m.performer.Files.remove(t.Images)
			delete(m.tasks, id)
		case p.Key != "" && t.Key == p.Key && (t.Failure == nil || t.Failure.Code != CodeUnavailable):
			return id, false, nil
		case t.Ended.IsZero():
			unfinished++
			if t.Caller == p.Caller {
				own++
			}
		}
	}
	switch {
	case own >= maxTasksOfCaller:
		return "", false, ErrTooMany
	case unfinished >= maxTasks:
		return "", false, ErrQueueFull
	}
	// No process uses the id again: a client may ask for the task after a restart.
	t := &memoryTask{Task: Task{ID: uuid.NewString(), Created: time.Now(), Params: p}, done: make(chan struct{})}
	m.queue <- t
	m.tasks[t.ID] = t
	return t.ID, true, nil
}

// Task implements [Tasks].
func (m *MemoryTasks) Task(_ context.Context, id string) (Task, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tasks[id]
	if t == nil || !t.Ended.IsZero() && time.Since(t.Ended) > retention {
		return Task{}, ErrNotFound
	}
	return t.Task, nil
}

// Wait implements [Tasks].
func (m *MemoryTasks) Wait(ctx context.Context, id string) (Task, error) {
	m.mu.Lock()
	t := m.tasks[id]
	m.mu.Unlock()
	if t != nil {
		select {
		case <-t.done:
		case <-m.stopped:
		case <-ctx.Done():
		}
	}
	return m.Task(ctx, id)
}
