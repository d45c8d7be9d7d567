package jobqueue

import (
	"context"
	"errors"
	"sort"
	"sync"
	"time"
)

// model is a Store in memory for tests of the worker's decisions in virtual time. What the real stores do is proved by
// queuetest.
type model struct {
	mu      sync.Mutex
	jobs    map[int64]*modelJob
	done    map[int64]*modelJob
	workers map[int64]time.Time
	next    int64
	wake    func(Signal) bool

	// fault, when not nil, is asked before and after each exchange takes effect; an error is returned to the worker.
	fault    func(after bool) error
	delay    func() time.Duration // how long the answer to an exchange is under way after it took effect; nil: no time
	slowBeat time.Duration        // how long the answer to a heartbeat is under way
	refuse   func(Outcome) bool   // an exchange with such an outcome changes nothing and is an error for good
	dead     bool                 // every call fails
	claims   int
	beats    int
	released int
	purges   map[PurgeFilter]int
	old      int // succeeded jobs older than any retention
}

type modelJob struct {
	Job
	visible time.Time // when its transaction commits
	lease   int64
	taken   time.Time
	verdict Verdict
	cancel  bool // asked to stop
}

var errAway = errors.New("database away")

func newModel() *model {
	return &model{jobs: map[int64]*modelJob{}, done: map[int64]*modelJob{}, workers: map[int64]time.Time{}, purges: map[PurgeFilter]int{}}
}

// add puts a job due at runAt into the queue that other transactions see from visible on.
func (m *model) add(runAt, visible time.Time, priority int) *modelJob {
	return m.addTo(DefaultQueue, runAt, visible, priority)
}

func (m *model) addTo(queue string, runAt, visible time.Time, priority int) *modelJob {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	j := &modelJob{visible: visible}
	j.ID, j.Queue, j.Kind, j.Priority, j.RunAt, j.MaxAttempts, j.Args = m.next, queue, "work", priority, runAt, 3, []byte("null")
	m.jobs[j.ID] = j
	return j
}

func (m *model) signal(s Signal) {
	m.mu.Lock()
	wake := m.wake
	m.mu.Unlock()
	if wake != nil {
		wake(s)
	}
}

func (m *model) call(ctx context.Context) (unlock func(), err error) {
	m.mu.Lock()
	if err := ctx.Err(); err != nil {
		m.mu.Unlock()
		return nil, err
	}
	if m.dead {
		m.mu.Unlock()
		return nil, errAway
	}
	return m.mu.Unlock, nil
}

func (m *model) Check(context.Context) error { return nil }

func (m *model) Insert(context.Context, []Record) ([]Receipt, error) {
	return nil, errors.ErrUnsupported
}

func (m *model) Register(ctx context.Context, _ string, lease time.Duration) (int64, error) {
	unlock, err := m.call(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	m.next++
	m.workers[m.next] = time.Now().Add(lease)
	return m.next, nil
}

func (m *model) Beat(ctx context.Context, worker int64, lease time.Duration) (cancelled []int64, alive bool, err error) {
	unlock, err := m.call(ctx)
	if err != nil {
		return nil, false, err
	}
	defer time.Sleep(m.slowBeat)
	defer unlock()
	m.beats++
	if _, alive = m.workers[worker]; alive {
		m.workers[worker] = time.Now().Add(lease)
	}
	for id, j := range m.jobs {
		if j.lease == worker && j.cancel {
			cancelled = append(cancelled, id)
		}
	}
	return cancelled, alive, nil
}

func (m *model) Exchange(ctx context.Context, x Exchange) (Exchanged, error) {
	res, err := m.exchange(ctx, x)
	if m.delay != nil {
		time.Sleep(m.delay())
	}
	return res, err
}

func (m *model) exchange(ctx context.Context, x Exchange) (res Exchanged, err error) {
	unlock, err := m.call(ctx)
	if err != nil {
		return res, err
	}
	defer unlock()
	if m.fault != nil {
		if err := m.fault(false); err != nil {
			return res, err
		}
	}
	for _, o := range x.Outcomes {
		if m.refuse != nil && m.refuse(o) {
			return res, Permanent(errAway)
		}
	}
	for _, o := range x.Outcomes {
		j := m.jobs[o.ID]
		if j == nil || j.Fence != o.Fence || j.lease != x.Worker {
			res.Lost = append(res.Lost, o.Lease)
			continue
		}
		j.lease, j.verdict = 0, o.Verdict
		if o.Verdict == Postpone {
			j.RunAt = time.Now().Add(o.Delay)
			if o.Refund {
				j.Attempt--
			}
			continue
		}
		delete(m.jobs, o.ID)
		m.done[o.ID] = j
	}
	for _, w := range x.Wants {
		m.claims++
		for _, j := range m.due(w) {
			j.lease, j.taken = x.Worker, time.Now()
			j.Fence++
			j.Attempt++
			c := j.Job // the worker's copy
			res.Jobs = append(res.Jobs, &c)
		}
	}
	if x.Ahead {
		for _, j := range m.jobs {
			if d := time.Until(j.RunAt); j.lease == 0 && d > 0 && !j.visible.After(time.Now()) && (res.Next == 0 || d < res.Next) {
				res.Next = d
			}
		}
	}
	if m.fault != nil {
		if err := m.fault(true); err != nil {
			return Exchanged{}, err
		}
	}
	return res, nil
}

// due are the jobs that a claim finds.
func (m *model) due(w Want) []*modelJob {
	now := time.Now()
	var due []*modelJob
	for _, j := range m.jobs {
		if j.Queue == w.Queue && j.lease == 0 && !j.visible.After(now) && !j.RunAt.After(now) && w.After[j.Priority-1].before(Mark{j.RunAt, j.ID}) {
			due = append(due, j)
		}
	}
	sort.Slice(due, func(a, b int) bool {
		if due[a].Priority != due[b].Priority {
			return due[a].Priority < due[b].Priority
		}
		return Mark{due[a].RunAt, due[a].ID}.before(Mark{due[b].RunAt, due[b].ID})
	})
	return due[:min(len(due), w.N)]
}

func (m *model) Release(ctx context.Context, worker int64, keep []Lease, forget bool) (n int, err error) {
	unlock, err := m.call(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	kept := map[Lease]bool{}
	for _, l := range keep {
		kept[l] = true
	}
	for _, j := range m.jobs {
		if j.lease == worker && !kept[Lease{j.ID, j.Fence}] {
			j.lease = 0
			j.Fence++
			j.Attempt--
			n++
		}
	}
	if forget {
		delete(m.workers, worker)
	}
	m.released += n
	return n, nil
}

func (m *model) Sweep(ctx context.Context, _ bool) (int, error) {
	unlock, err := m.call(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return 0, nil
}

func (m *model) Get(ctx context.Context, id int64) (*Job, error) {
	unlock, err := m.call(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if j := m.done[id]; j != nil {
		return &Job{ID: id, Fence: j.Fence, State: StateSucceeded}, nil
	}
	if j := m.jobs[id]; j != nil {
		state := StateWaiting
		if j.lease != 0 {
			state = StateRunning
		}
		return &Job{ID: id, Fence: j.Fence, State: state}, nil
	}
	return nil, ErrNotFound
}

func (m *model) List(context.Context, Filter) ([]*Job, error) { return nil, nil }
func (m *model) Stats(context.Context) (Stats, error)         { return Stats{}, nil }
func (m *model) Retry(context.Context, int64) error           { return nil }
func (m *model) Cancel(context.Context, int64) error          { return nil }

func (m *model) Purge(ctx context.Context, f PurgeFilter) (int, error) {
	unlock, err := m.call(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	m.purges[f]++
	n := 0
	if f.State == StateSucceeded {
		n = min(m.old, 5000)
		m.old -= n
	}
	return n, nil
}

func (m *model) Wake(ctx context.Context, up func(), f func(Signal) bool) error {
	m.mu.Lock()
	m.wake = f
	m.mu.Unlock()
	up()
	<-ctx.Done()
	return ctx.Err()
}
