package jobqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// WorkerConfig configures a [Worker]. The zero value works the default queue.
type WorkerConfig struct {
	// Queues to work, by name. Defaults to DefaultQueue with a zero QueueConfig.
	Queues map[string]QueueConfig
	// Name tells people which process this is. Defaults to host name and process id.
	Name string
	// Lease is how long the jobs of a process that died or lost the database stay its own. It is renewed three times
	// in this time by one statement for the whole process. Others take the jobs back within half a Lease more.
	// How long one job may run is another matter: see Timeout. Defaults to 30 s.
	Lease time.Duration
	// Timeout is how long one attempt may run before its context ends with cause ErrTimeout, unless [WithTimeout] of its
	// kind says otherwise. Defaults to 1 h; negative means no timeout.
	Timeout time.Duration
	// Abandon is how long after its timeout a handler may go on. After that the attempt counts as failed and the job is
	// tried again, while the handler keeps its slot until it returns. Defaults to 1 min.
	Abandon time.Duration
	// Grace is how long handlers may go on undisturbed after the context of Run has ended. Then their contexts end with
	// cause ErrStopped, and Run returns at most StopMargin later, unless the store does not heed its contexts: see package
	// sqlitequeue. Defaults to 10 s; negative means none.
	Grace time.Duration
	// Poll is the time between two looks at an idle queue. Defaults to 1 s while the store notifies, 200 ms while it does
	// not, and less for a moment after there were jobs.
	Poll time.Duration
	// PollOnly makes no use of notifications.
	PollOnly bool
	// Prefetch is how many jobs of a queue may be taken beyond its free slots, so that handlers never wait for the
	// database. They lose an attempt when the process is killed. Defaults to what the slots can work off in about 20 ms
	// when handlers take less than 10 ms on average, at most 1000; negative means none.
	Prefetch int
	// Backoff is the delay after the failure of an attempt (1, 2, …), unless [WithBackoff] of the kind says otherwise.
	// Defaults to DefaultBackoff.
	Backoff func(attempt int) time.Duration
	// Middleware wraps every handler, the first outermost.
	Middleware []Middleware
	// OnEvent is called for every event after it is durable, from several goroutines. It must return quickly.
	OnEvent func(Event)
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// QueueConfig configures one queue of a [Worker].
type QueueConfig struct {
	// Slots is how many jobs of the queue this worker runs at a time. Defaults to 50.
	Slots int
	// Retention is how long succeeded jobs stay in the history. Defaults to 7 days. KeepNone deletes a job when it
	// succeeds, which is cheaper; KeepForever never deletes. What is older is deleted every 15 minutes, or as often as the
	// shortest retention of the worker's queues where that is less, but not more than once a minute.
	Retention time.Duration
	// RetentionFailed is how long failed and cancelled jobs stay. Defaults to 30 days; KeepNone and KeepForever as above.
	RetentionFailed time.Duration
}

// Values of QueueConfig.Retention and RetentionFailed.
const (
	KeepNone    time.Duration = -1
	KeepForever time.Duration = 1<<63 - 1
)

// StopMargin is how much later than WorkerConfig.Grace [Worker.Run] returns at most, where the store heeds its contexts.
const StopMargin = 5 * time.Second

const (
	defaultSlots   = 50
	fullScanEvery  = time.Second // bound of the watermark: see watermark
	maxClaim       = 1000        // jobs taken by one exchange
	engines        = 2           // exchanges under way at most: a claim need not wait for the commit of outcomes
	auditEvery     = 5 * time.Minute
	purgeAtLeast   = time.Minute // between two purges
	purgeAtMost    = 15 * time.Minute
	settleMargin   = 2 * time.Second
	shortIO        = time.Second
	listenAgainMin = 100 * time.Millisecond
	listenAgainMax = 10 * time.Second
)

func (c WorkerConfig) withDefaults() WorkerConfig {
	if len(c.Queues) == 0 {
		c.Queues = map[string]QueueConfig{DefaultQueue: {}}
	}
	if c.Name == "" {
		host, _ := os.Hostname()
		c.Name = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if c.Lease <= 0 {
		c.Lease = 30 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = time.Hour
	}
	if c.Abandon <= 0 {
		c.Abandon = time.Minute
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.Backoff == nil {
		c.Backoff = DefaultBackoff
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Worker takes jobs from the queues of a store and runs their handlers. Register those with [Handle], then call Run.
type Worker struct {
	store    Store
	cfg      WorkerConfig
	handlers map[string]*handler
	started  atomic.Bool

	mu       sync.Mutex
	cond     *sync.Cond // something of the following has changed
	queues   []*queue
	byName   map[string]*queue
	lease    *lease     // nil while there is none
	finished []*attempt // with an outcome that waits to be recorded
	limit    int        // of outcomes in an exchange
	exchange int        // exchanges under way
	claiming int        // those of them that may take jobs
	doubt    bool       // an exchange failed, so the database may hold jobs for us that we do not know of
	recheck  bool       // … and may still find some at the next heartbeat
	running  int        // handlers under way
	listens  bool
	stopping bool          // take no jobs
	expired  bool          // and the grace period is over
	closed   bool          // leave once finished is empty
	ahead    bool          // ask for the next scheduled job
	eager    time.Duration // until the next look, after jobs were found
	alarmAt  time.Time     // when a scheduled job is due; zero: none known
	rearm    chan struct{}
	beatNow  chan struct{} // a job may have been asked to stop
}

// NewWorker returns a worker; it starts nothing.
func NewWorker(store Store, cfg WorkerConfig) *Worker {
	w := &Worker{
		store: store, cfg: cfg.withDefaults(), handlers: map[string]*handler{},
		byName: map[string]*queue{}, rearm: make(chan struct{}, 1), beatNow: make(chan struct{}, 1), limit: maxOutcomes,
	}
	w.cond = sync.NewCond(&w.mu)
	for name, qc := range w.cfg.Queues {
		q := newQueue(name, qc, w.cfg.Prefetch)
		w.queues, w.byName[name] = append(w.queues, q), q
	}
	return w
}

// Run works until ctx ends, then waits for the handlers as WorkerConfig.Grace says, gives back what is left and
// returns nil. It returns an error at once when the schema does not fit; while the database is away it keeps
// trying. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	if w.started.Swap(true) {
		return errors.New("jobqueue: worker has been run before")
	}
	for name, q := range w.byName {
		if err := checkName("queue", name); err != nil {
			return err
		}
		if q.slots < 1 {
			return fmt.Errorf("jobqueue: queue %q has %d slots", name, q.slots)
		}
	}
	if err := w.await(ctx, "check schema", w.store.Check); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if err := w.newLease(ctx); err != nil {
		return nil // ctx ended before there was a lease
	}

	// The loops outlive ctx: handlers that still run need them.
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var loops, talks sync.WaitGroup
	loops.Go(func() { w.beatLoop(base) })
	loops.Go(func() { w.sweepLoop(base) })
	loops.Go(func() { w.purgeLoop(base) })
	loops.Go(func() { w.pollLoop(base) })
	loops.Go(func() { w.listenLoop(base) })
	for range engines {
		talks.Go(func() { w.engine(base) })
	}

	<-ctx.Done()
	w.stop(base, cancel, &talks)
	loops.Wait()
	return nil
}

// stop is the way out of Run. Its steps are bounded by Grace, settleMargin and shortIO (twice): in sum less than
// Grace + StopMargin.
func (w *Worker) stop(base context.Context, cancel context.CancelFunc, talks *sync.WaitGroup) {
	w.mu.Lock()
	w.stopping = true
	for _, q := range w.queues {
		for _, a := range q.buffer {
			delete(a.lease.held, a.job.ID)
		}
		q.buffer = nil
	}
	w.cond.Broadcast()
	w.mu.Unlock()

	// What was taken but not started goes back at once, when no claim is under way any more.
	givenBack := make(chan struct{})
	go func() {
		defer close(givenBack)
		w.mu.Lock()
		for w.claiming > 0 && !w.closed {
			w.cond.Wait()
		}
		w.mu.Unlock()
		w.giveBack(base, false)
	}()

	if !w.settledWithin(w.cfg.Grace) {
		w.mu.Lock()
		w.expired = true
		if w.lease != nil {
			w.lease.end(ErrStopped)
		}
		w.mu.Unlock()
		w.settledWithin(settleMargin / 2)
	}
	w.mu.Lock()
	w.closed = true
	w.cond.Broadcast()
	w.mu.Unlock()

	flushed := make(chan struct{})
	go func() { talks.Wait(); close(flushed) }()
	select {
	case <-flushed:
	case <-time.After(shortIO):
	}
	w.giveBack(base, true)
	cancel()
	<-flushed
	<-givenBack
}

// settledWithin waits until no handler runs and every outcome is recorded.
func (w *Worker) settledWithin(d time.Duration) bool {
	late := false
	timer := time.AfterFunc(max(d, 0), func() {
		w.mu.Lock()
		late = true
		w.cond.Broadcast()
		w.mu.Unlock()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !late && (w.running > 0 || len(w.finished) > 0 || w.exchange > 0) {
		w.cond.Wait()
	}
	return !late
}

// giveBack releases the jobs that this worker holds but does not run; with forget, all of them and the worker itself.
func (w *Worker) giveBack(ctx context.Context, forget bool) {
	w.mu.Lock()
	l := w.lease
	var keep []Lease
	if l != nil && !forget {
		keep = l.keep()
	}
	w.mu.Unlock()
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shortIO)
	defer cancel()
	if n, err := w.store.Release(ctx, l.worker, keep, forget); err != nil {
		if !forget {
			return // the last word is still to come
		}
		w.cfg.Logger.Warn("jobs not given back; they return when the lease ends", "error", err)
	} else if n > 0 {
		w.cfg.Logger.Info("jobs given back", "count", n)
	}
}

// await calls f until it succeeds or ctx ends, with growing pauses; ErrSchema is final.
func (w *Worker) await(ctx context.Context, what string, f func(context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := f(ctx)
		if err == nil || errors.Is(err, ErrSchema) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.cfg.Logger.Warn("database not available, trying again", "step", what, "error", err)
		if !sleep(ctx, jitter(pause)) {
			return context.Cause(ctx)
		}
	}
}

// sleep returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter spreads d over 90 to 110 per cent, so that processes started together do not stay in step.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
