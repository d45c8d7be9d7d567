package jobqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// model is a Store in memory for tests of the worker's decisions in virtual time. What the real
// stores do is proved by queuetest.
type model struct {
	driver.Store // nil: what is not modelled is not called

	mu      sync.Mutex
	jobs    map[int64]*modelJob
	done    map[int64]*modelJob
	workers map[int64]time.Time
	next    int64
	wake    func(driver.Signal) bool

	// fault, when not nil, is called before and after each exchange takes effect; the worker
	// receives its error.
	fault func(after bool) error
	// delay, when not nil, delays the response to an exchange after it took effect.
	delay func() time.Duration
	// slowHeartbeat delays the response to a heartbeat.
	slowHeartbeat time.Duration
	// blind makes heartbeats fail to find cancelled jobs.
	blind bool
	// refuse, when not nil, makes exchanges with such a result change nothing and fail permanently.
	refuse func(driver.Result) bool

	dead       bool // every call fails
	calls      int  // that have failed
	claims     int
	limits     []int // of the claims that found jobs
	taken      int   // how many of what a large claim finds others take
	heartbeats int
	released   int
	rescues    []time.Time
	largest    int // bytes of the results of one exchange, or of the states of one Save
	purges     map[driver.PurgeFilter]int
	old        int     // succeeded jobs older than any retention
	callbacks  []int64 // of cancelled jobs, that are due
	called     []int64 // … and have returned
	purged     []int64 // after which the succeeded jobs were purged
}

type modelJob struct {
	driver.Job
	visible time.Time // when its transaction commits
	lease   int64
	claimed time.Time
	action  driver.Action
	cancel  bool // to be cancelled
}

func (j *modelJob) cursor() driver.Cursor { return driver.Cursor{RunAt: j.RunAt, ID: j.ID} }

var errAway = errors.New("database away")

func newModel() *model {
	return &model{
		jobs: map[int64]*modelJob{}, done: map[int64]*modelJob{}, workers: map[int64]time.Time{},
		purges: map[driver.PurgeFilter]int{},
	}
}

// add adds a job due at runAt that other transactions see from visible on.
func (m *model) add(runAt, visible time.Time, priority int) *modelJob {
	return m.addTo(DefaultQueue, runAt, visible, priority)
}

func (m *model) addTo(queue string, runAt, visible time.Time, priority int) *modelJob {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	j := &modelJob{visible: visible}
	j.ID, j.Queue, j.Kind, j.Args = m.next, queue, "work", []byte("null")
	j.Priority, j.RunAt, j.MaxAttempts = priority, runAt, 3
	m.jobs[j.ID] = j
	return j
}

func (m *model) signal(s driver.Signal) {
	m.mu.Lock()
	wake := m.wake
	m.mu.Unlock()
	if wake != nil {
		wake(s)
	}
}

// call locks m, unless it returns an error.
func (m *model) call(ctx context.Context) error {
	m.mu.Lock()
	err := ctx.Err()
	if err == nil && m.dead {
		m.calls++ // as the local port of a connection differs
		err = fmt.Errorf("%w: read tcp 10.0.0.2:%d", errAway, m.calls)
	}
	if err != nil {
		m.mu.Unlock()
	}
	return err
}

// locked calls f with m locked.
func (m *model) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *model) Migrated(context.Context) (bool, error) { return true, nil }

func (m *model) Register(ctx context.Context, _ string, _ []string, lease time.Duration) (int64, error) {
	if err := m.call(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	m.next++
	m.workers[m.next] = time.Now().Add(lease)
	return m.next, nil
}

func (m *model) Heartbeat(
	ctx context.Context, worker int64, lease time.Duration,
) (cancelled []int64, alive bool, err error) {
	if err := m.call(ctx); err != nil {
		return nil, false, err
	}
	defer time.Sleep(m.slowHeartbeat)
	defer m.mu.Unlock()
	m.heartbeats++
	if _, alive = m.workers[worker]; alive {
		m.workers[worker] = time.Now().Add(lease)
	}
	if m.blind {
		return nil, alive, errAway
	}
	for id, j := range m.jobs {
		if j.lease == worker && j.cancel {
			cancelled = append(cancelled, id)
		}
	}
	return cancelled, alive, nil
}

func (m *model) Exchange(ctx context.Context, x driver.ExchangeRequest) (driver.ExchangeResponse, error) {
	res, err := m.exchange(ctx, x)
	if m.delay != nil {
		time.Sleep(m.delay())
	}
	return res, err
}

func (m *model) Save(_ context.Context, _ int64, states []driver.Saved) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := 0
	for _, s := range states {
		size += len(s.State)
	}
	m.largest = max(m.largest, size)
	return nil
}

func (m *model) exchange(ctx context.Context, x driver.ExchangeRequest) (res driver.ExchangeResponse, err error) {
	if err := m.call(ctx); err != nil {
		return res, err
	}
	defer m.mu.Unlock()
	if m.fault != nil {
		if err := m.fault(false); err != nil {
			return res, err
		}
	}
	size := 0
	for _, o := range x.Results {
		size += o.Size()
	}
	m.largest = max(m.largest, size)
	for _, o := range x.Results {
		if m.refuse != nil && m.refuse(o) {
			return res, Permanent(errAway)
		}
	}
	for _, o := range x.Results {
		j := m.jobs[o.ID]
		if j == nil || j.Fence != o.Fence || j.lease != x.Worker {
			res.Lost = append(res.Lost, o.Lease)
			continue
		}
		j.lease, j.action = 0, o.Action
		switch {
		case o.Action == driver.Reschedule && j.cancel:
			j.action = driver.Cancel
			res.Cancelled = append(res.Cancelled, o.Lease)
		case o.Action == driver.Reschedule:
			j.RunAt = time.Now().Add(o.Delay)
			if o.Uncounted {
				j.Attempt--
			}
			continue
		}
		delete(m.jobs, o.ID)
		m.done[o.ID] = j
	}
	for _, w := range x.Claims {
		m.claims++
		due := m.due(w)
		if len(due) > 0 {
			m.limits = append(m.limits, w.Limit)
		}
		for _, j := range due {
			j.lease, j.claimed = x.Worker, time.Now()
			j.Fence++
			j.Attempt++
			c := j.Job // a copy for the worker
			res.AddJob(&c)
		}
	}
	if x.LookAhead {
		for _, j := range m.jobs {
			if j.lease == 0 && !j.visible.After(time.Now()) {
				res.AddNext(time.Until(j.RunAt))
			}
		}
	}
	if m.fault != nil {
		if err := m.fault(true); err != nil {
			return driver.ExchangeResponse{}, err
		}
	}
	return res, nil
}

// due returns the jobs that a claim finds.
func (m *model) due(w driver.ClaimRequest) []*modelJob {
	now := time.Now()
	var due []*modelJob
	for _, j := range m.jobs {
		if j.Queue == w.Queue && j.lease == 0 && !j.visible.After(now) && !j.RunAt.After(now) &&
			w.After[j.Priority-1].Before(j.cursor()) {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *modelJob) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.cursor().Compare(b.cursor()))
	})
	if w.Limit > smallClaim {
		w.Limit -= m.taken
	}
	return due[:min(len(due), w.Limit)]
}

func (m *model) Release(ctx context.Context, worker int64, keep []driver.Lease, forget bool) (n int, err error) {
	if err := m.call(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	kept := map[driver.Lease]bool{}
	for _, l := range keep {
		kept[l] = true
	}
	for _, j := range m.jobs {
		if j.lease == worker && !kept[driver.Lease{ID: j.ID, Fence: j.Fence}] {
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

func (m *model) Rescue(ctx context.Context, _ bool) (int, error) {
	if err := m.call(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	m.rescues = append(m.rescues, time.Now())
	for id, expires := range m.workers {
		if expires.Before(time.Now()) {
			delete(m.workers, id)
		}
	}
	rescued := 0
	for _, j := range m.jobs {
		if _, alive := m.workers[j.lease]; j.lease != 0 && !alive {
			j.lease = 0
			j.Fence++
			rescued++
		}
	}
	return rescued, nil
}

func (m *model) Get(ctx context.Context, id int64) (*driver.Job, error) {
	if err := m.call(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if j := m.done[id]; j != nil {
		state := driver.StateSucceeded
		if j.action == driver.Cancel {
			state = driver.StateCancelled
		}
		return &driver.Job{ID: id, Kind: j.Kind, Fence: j.Fence, State: state}, nil
	}
	if j := m.jobs[id]; j != nil {
		state := driver.StateWaiting
		if j.lease != 0 {
			state = driver.StateRunning
		}
		return &driver.Job{ID: id, Fence: j.Fence, State: state}, nil
	}
	return nil, ErrNotFound
}

func (m *model) NextCancelled(ctx context.Context, _ []string, _ time.Duration) (id int64, err error) {
	if err := m.call(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if len(m.callbacks) > 0 {
		id, m.callbacks = m.callbacks[0], m.callbacks[1:]
	}
	return id, nil
}

func (m *model) CallbackDone(ctx context.Context, id int64, _ time.Time) error {
	if err := m.call(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.called = append(m.called, id)
	return nil
}

func (m *model) AddMinutes(context.Context, []driver.Minute) error { return nil }

func (m *model) Purge(ctx context.Context, f driver.PurgeFilter) (n int, last int64, err error) {
	if err := m.call(ctx); err != nil {
		return 0, 0, err
	}
	defer m.mu.Unlock()
	if f.State == driver.StateSucceeded {
		n = min(m.old, 5000)
		m.old -= n
		m.purged = append(m.purged, f.After)
	}
	last = f.After + int64(n)
	f.After = 0
	m.purges[f]++
	return n, last, nil
}

func (m *model) Listen(ctx context.Context, up func(), f func(driver.Signal) bool) error {
	m.mu.Lock()
	m.wake = f
	m.mu.Unlock()
	up()
	<-ctx.Done()
	return ctx.Err()
}
