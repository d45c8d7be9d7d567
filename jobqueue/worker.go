package jobqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// WorkerConfig configures a [Worker]. The zero value processes the default queue.
type WorkerConfig struct {
	// Queues to process, by name. Defaults to DefaultQueue with a zero QueueConfig.
	Queues map[string]QueueConfig
	// Schedules enqueue jobs periodically, for any worker that has their queue.
	Schedules []Schedule
	// Lease is how long the jobs of a process that died or lost the database remain its own. One
	// heartbeat for the whole process renews the lease three times in this time; another process
	// rescues the jobs of an expired one within half a Lease, its own: all workers of a database
	// should have the same. It does not limit how long a job may run: see Timeout. Defaults to
	// 30 s.
	Lease time.Duration
	// Timeout is how long one attempt may run before its context ends with cause ErrTimeout;
	// [WithTimeout] sets it for one kind. When a handler still runs a minute later, the attempt
	// has failed and the job is tried again, while the handler occupies one of MaxWorkers until
	// it returns. Defaults to 1 h; negative means no timeout.
	Timeout time.Duration
	// ShutdownTimeout is how long handlers and callbacks may keep running after the context of Run
	// has ended. Then their contexts end with cause ErrStopped, and Run returns within 5 s, unless
	// the store ignores the end of its contexts: see package sqlitequeue. Defaults to 10 s;
	// negative means 0.
	ShutdownTimeout time.Duration
	// PollInterval is how often an idle queue is polled. Defaults to 1 s while the store notifies
	// workers of new jobs, to 200 ms while it does not, and to less for a moment after there were
	// jobs.
	PollInterval time.Duration
	// Prefetch is how many jobs of a queue may be claimed beyond its free workers, so that handlers
	// never wait for the database. A prefetched job loses an attempt when the process is killed.
	// Defaults to what MaxWorkers process in about 20 ms when handlers take less than 10 ms on
	// average, at most 3000; negative means none.
	Prefetch int
	// Backoff returns the delay after the failure of an attempt (1, 2, …); [WithBackoff] sets it
	// for one kind. Defaults to 1 s after the first attempt, doubling up to 1 h, each time with up
	// to a fifth more or less, which is also used where Backoff panics. It must not block, because
	// the worker waits for it.
	Backoff func(attempt int) time.Duration
	// Context returns the context of a job, derived from ctx, for example with values from its
	// Meta. The contexts of handlers and OnFailed callbacks are derived from it, and the logger
	// gets it with each line about the job. If Context or what it returns is nil, ctx is used
	// instead. If it panics, the attempt has failed, and the OnFailed callback and the logger get
	// ctx. It is called from several goroutines.
	Context func(ctx context.Context, job *Job) context.Context
	// Middleware wraps every handler, the first outermost, for example to log, measure or trace.
	Middleware []func(next HandlerFunc) HandlerFunc
	// OnEvent is called for every event after it is durable, from several goroutines. It must
	// return quickly.
	OnEvent func(Event)
	// Logger receives what goes wrong. An error after which the worker tries again, for example
	// while the database is away, is logged once a minute for each operation and queue. Defaults to
	// one that discards.
	Logger *slog.Logger
}

// QueueConfig configures one queue of a [Worker].
type QueueConfig struct {
	// MaxWorkers is how many jobs of the queue this process runs at a time. Defaults to 50.
	MaxWorkers int
	// Limit is how many jobs of the queue all processes together run at a time, at most 10,000; 0
	// means no limit. All workers of the queue must have the same Limit. The jobs of a process that
	// dies count until they are rescued.
	Limit int
	// Rate limits how many jobs of the queue all processes together start in a time. All workers of
	// the queue must have the same Rate. A higher one that is deployed applies when the time that
	// the lower one has set is over.
	Rate Rate
	// Retention is how long succeeded jobs stay in the history. Defaults to 7 days. KeepNone
	// deletes a job when it succeeds, which is cheaper; KeepForever never deletes. Older jobs are
	// deleted every 15 minutes, or as often as the shortest retention of the worker's queues where
	// that is less, but not more than once a minute; a job that took longer than Retention may stay
	// for a day more, and those of a queue that no worker serves any more stay.
	Retention time.Duration
	// RetentionFailed is how long failed and cancelled jobs stay. Defaults to 30 days; KeepNone and
	// KeepForever as above. Cancelled jobs stay for an hour at least, for their OnFailed callbacks.
	RetentionFailed time.Duration
}

// Rate is a number of starts in a time: in any period t at most N × t / Per + Burst jobs
// start. The zero value means no limit.
type Rate struct {
	N   int
	Per time.Duration // at least N microseconds, at most 366 days
	// Burst is how many jobs may start at once when none has started for a while. Defaults to 1:
	// then a claim takes one job, and the few milliseconds by which each starts late are lost, so
	// that of 100 a second about 80 start. Rates above 20 a second need a Burst of as many jobs as
	// are due in 50 ms: 5 for 100 a second. At most 10,000.
	Burst int
}

// every returns the time between two starts, rounded up, so that not more start. N is positive.
func (r Rate) every() time.Duration {
	every := (r.Per-1)/time.Duration(r.N) + 1
	return (every + time.Microsecond - 1).Truncate(time.Microsecond)
}

func (r Rate) valid() bool {
	return r == Rate{} || r.N > 0 && r.Per/time.Microsecond >= time.Duration(r.N) && r.Per <= 366*24*time.Hour &&
		r.Burst >= 0 && r.Burst <= maxLimit
}

// Values of QueueConfig.Retention and RetentionFailed.
const (
	KeepNone    time.Duration = -1
	KeepForever time.Duration = 1<<63 - 1
)

const (
	fullScanEvery  = time.Second // limit of the watermark's delay: see watermark
	maxClaim       = 3000        // jobs claimed by one exchange; fewer wait for the disk more often
	smallClaim     = 400         // … as long as there are fewer: an engine may let large claims take turns
	executors      = 2           // so that a claim need not wait for the commit of results
	overlapFrom    = 1000        // jobs of a claim, for another of half as many at the same time
	overlapWithin  = 50 * time.Millisecond
	orphansEvery   = 5 * time.Minute
	stuckThreshold = time.Minute // how long a handler may run after its timeout
	minPurgePause  = time.Minute
	maxPurgePause  = 15 * time.Minute
	fullPurgeEvery = 24 * time.Hour
	minListenPause = 100 * time.Millisecond
	maxListenPause = 10 * time.Second

	// The end of Run after ShutdownTimeout: handlers settle, executors return, and jobs are
	// released twice, together within the 5 s that ShutdownTimeout documents.
	settleTimeout = time.Second
	stopIOTimeout = time.Second

	// How long a call of the store may take, so that each loop goes on soon after its connection
	// has become half-open: an exchange or a purge, whose data may be much, and any other.
	longIOTimeout = 12 * time.Second
	ioTimeout     = 5 * time.Second
)

func (c WorkerConfig) withDefaults() WorkerConfig {
	if len(c.Queues) == 0 {
		c.Queues = map[string]QueueConfig{DefaultQueue: {}}
	}
	if c.Lease <= 0 {
		c.Lease = 30 * time.Second
	}
	c.Timeout = cmp.Or(c.Timeout, time.Hour)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, 10*time.Second)
	if c.Backoff == nil {
		c.Backoff = defaultBackoff
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Worker claims jobs from the queues of a store and runs their handlers. Register those with
// [Handle], then call Run.
type Worker struct {
	store    Store
	cfg      WorkerConfig
	handlers map[string]*handler
	kinds    []string // of handlers
	started  atomic.Bool

	mu         sync.Mutex
	cond       *sync.Cond // some of the following has changed
	queues     []*queue   // in the order in which the next claim serves them
	byName     map[string]*queue
	lease      *lease                // nil while there is none
	finished   []*attempt            // with a result to be recorded
	maxResults int                   // of one exchange
	exchanges  int                   // in progress
	claims     int                   // those of them that claim jobs
	overlap    bool                  // two of them may be in progress
	uncertain  bool                  // the database may hold jobs for us that we do not know of
	recheck    bool                  // … and may still commit some until the next heartbeat
	running    int                   // handlers running, and callbacks of cancelled jobs
	stopping   bool                  // claim no jobs
	closed     bool                  // executors return once finished is empty
	unsaved    map[*attempt]struct{} // whose saved states are not stored yet
	warned     map[string]time.Time  // when by what was tried: see warn
	overdue    map[string]overdue    // schedules by name, of scheduleLoop
	// endCallback ends the context of the last callback of a cancelled job; nil: there was none.
	endCallback context.CancelCauseFunc
	polling     polling

	wake wakeups
}

// wakeups wake the loops of a worker: see notify.
type wakeups struct {
	poll      chan struct{} // a scheduled job is due sooner, or jobs were found
	heartbeat chan struct{} // a job may have been cancelled
	schedules chan struct{} // a schedule was changed
	slots     chan struct{} // a queue needs slots
	save      chan struct{} // there are unsaved states
	cancelled chan struct{} // a job may have ended by cancelling
}

func newWakeups() wakeups {
	c := func() chan struct{} { return make(chan struct{}, 1) }
	return wakeups{poll: c(), heartbeat: c(), schedules: c(), slots: c(), save: c(), cancelled: c()}
}

// NewWorker returns a worker; it starts nothing.
func NewWorker(store Store, cfg WorkerConfig) *Worker {
	w := &Worker{
		store: store, cfg: cfg.withDefaults(), handlers: map[string]*handler{},
		byName: map[string]*queue{}, maxResults: maxResults, wake: newWakeups(), unsaved: map[*attempt]struct{}{},
		warned: map[string]time.Time{}, overdue: map[string]overdue{},
	}
	w.cond = sync.NewCond(&w.mu)
	for name, qc := range w.cfg.Queues {
		q := newQueue(name, qc, w.cfg.Prefetch)
		w.queues, w.byName[name] = append(w.queues, q), q
	}
	return w
}

// Run processes jobs until ctx ends, then waits for the handlers up to
// WorkerConfig.ShutdownTimeout, releases the remaining jobs and returns nil. It returns an error at
// once when the tables do not match this version of the store (run its Migrate) or the
// configuration is invalid; while the database is unavailable it keeps trying. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	if w.started.Swap(true) {
		return errors.New("jobqueue: Run called twice")
	}
	for name, q := range w.byName {
		if err := driver.CheckName("queue", name); err != nil {
			return err
		}
		if q.MaxWorkers < 1 {
			return fmt.Errorf("jobqueue: queue %q has MaxWorkers %d", name, q.MaxWorkers)
		}
		if !q.Rate.valid() {
			return fmt.Errorf("jobqueue: queue %q has the invalid Rate %+v", name, q.Rate)
		}
		if q.Limit < 0 || q.Limit > maxLimit {
			return fmt.Errorf("jobqueue: queue %q has Limit %d, not 0 to %d", name, q.Limit, maxLimit)
		}
	}
	if err := checkSchedules(w.cfg.Schedules); err != nil {
		return err
	}
	w.kinds = slices.AppendSeq([]string{}, maps.Keys(w.handlers)) // not nil: that would be all kinds
	if err := w.await(ctx, "check schema", w.checkSchema); err != nil {
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
	var loops, exchanging sync.WaitGroup
	for _, loop := range []func(context.Context){
		w.heartbeatLoop, w.rescueLoop, w.purgeLoop, w.pollLoop, w.listenLoop, w.slotLoop, w.saveLoop, w.figuresLoop,
	} {
		loops.Go(func() { loop(base) })
	}
	loops.Go(func() { w.scheduleLoop(ctx) })
	loops.Go(func() { w.cancelledLoop(ctx, base) })
	for range executors {
		exchanging.Go(func() { w.executor(base) })
	}

	<-ctx.Done()
	w.stop(base, cancel, &exchanging)
	loops.Wait()
	return nil
}

// stop ends Run, less than 5 s after ShutdownTimeout.
func (w *Worker) stop(base context.Context, cancel context.CancelFunc, exchanging *sync.WaitGroup) {
	w.mu.Lock()
	w.stopping = true
	w.dropPrefetched()
	w.cond.Broadcast()
	w.mu.Unlock()

	// What was claimed but not started is released at once, as soon as no claim is in progress.
	released := make(chan struct{})
	go func() {
		defer close(released)
		w.mu.Lock()
		for w.claims > 0 && !w.closed {
			w.cond.Wait()
		}
		w.mu.Unlock()
		w.release(base, false)
	}()

	if !w.settledWithin(w.cfg.ShutdownTimeout) {
		w.mu.Lock()
		if w.lease != nil {
			w.lease.end(ErrStopped)
		}
		if w.endCallback != nil {
			w.endCallback(ErrStopped)
		}
		w.mu.Unlock()
		w.settledWithin(settleTimeout)
	}
	w.mu.Lock()
	w.closed = true
	w.cond.Broadcast()
	w.mu.Unlock()

	flushed := make(chan struct{})
	go func() { exchanging.Wait(); close(flushed) }()
	select {
	case <-flushed:
	case <-time.After(stopIOTimeout):
	}
	var figures sync.WaitGroup
	figures.Go(func() { w.addFigures(base, stopIOTimeout) })
	w.release(base, true)
	figures.Wait()
	cancel()
	<-flushed
	<-released
}

// settledWithin waits up to d until no handler runs and every result is recorded.
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
	for !late && (w.running > 0 || len(w.finished) > 0 || w.exchanges > 0) {
		w.cond.Wait()
	}
	return !late
}

// release releases the jobs that this worker holds but does not run; with unregister, all of them
// and the worker itself.
func (w *Worker) release(ctx context.Context, unregister bool) {
	w.mu.Lock()
	l := w.lease
	var keep []driver.Lease
	if l != nil && !unregister {
		keep = l.keep()
	}
	w.mu.Unlock()
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopIOTimeout)
	defer cancel()
	n, err := w.store.Release(ctx, l.worker, keep, unregister)
	switch {
	case err != nil && unregister:
		w.cfg.Logger.Warn("release jobs; they return to the queue when the lease expires", "error", err)
	case n > 0:
		w.cfg.Logger.Info("jobs released", "count", n)
	}
}

func (w *Worker) checkSchema(ctx context.Context) error {
	ok, err := w.store.Migrated(ctx)
	if err == nil && !ok {
		err = fmt.Errorf("%w: tables are missing or older than this program; run Migrate", driver.ErrSchema)
	}
	return err
}

// await calls f until it succeeds or ctx ends, with growing pauses; ErrSchema is final.
func (w *Worker) await(ctx context.Context, what string, f func(context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		io, cancel := context.WithTimeout(ctx, ioTimeout)
		err := f(io)
		cancel()
		if err == nil || errors.Is(err, driver.ErrSchema) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.warn("database not available, trying again", what, err, "operation", what)
		if !sleep(ctx, jitter(pause)) {
			return context.Cause(ctx)
		}
	}
}

// warn logs an error after which the worker tries again. While the database is away every loop has
// one each second, so of each message and operation or queue one is logged in a minute, whatever
// the error, whose text may have the port of a connection.
func (w *Worker) warn(message, of string, err error, args ...any) {
	key := message + " " + of
	w.mu.Lock()
	repeated := time.Since(w.warned[key]) < time.Minute
	if !repeated {
		w.warned[key] = time.Now()
	}
	w.mu.Unlock()
	if !repeated {
		w.cfg.Logger.Warn(message, append(args, "error", err)...)
	}
}

// sleep returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool { return wait(ctx, d, nil) }

// wait waits for d or for wake, whichever is first. It returns false when ctx ended before both.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter varies d by up to 10 %, so that processes started together do not stay in step.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
