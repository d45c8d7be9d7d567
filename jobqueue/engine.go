package jobqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// engine carries the conversation with the database: each exchange records what has finished since the last one and
// takes new jobs, in one transaction. There is no timer for outcomes: while one transaction commits, the next batch
// collects, so that a quiet worker commits each job at once and a busy one hundreds together.
//
// A job's way through a worker: an exchange takes it, work runs its handler, perform and failed (handler.go) decide what
// the handler's error means, finish puts the outcome in line for the next exchange. lease.go keeps the lease and takes
// back the jobs of dead workers, poll.go says when to look for jobs.
func (w *Worker) engine(ctx context.Context) {
	pause := 10 * time.Millisecond
	for {
		x, done, ok := w.next()
		if !ok {
			return
		}
		if x.lease == nil { // an earlier exchange failed
			w.resolveDoubt(ctx)
			continue
		}
		io, cancel := context.WithTimeout(ctx, w.cfg.Lease)
		res, err := w.store.Exchange(io, x.Exchange)
		cancel()
		if err != nil {
			w.exchangeFailed(x, done, err)
			if !sleep(ctx, jitter(pause)) {
				return
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 10 * time.Millisecond
		w.settle(ctx, x, done, res)
	}
}

// request is an exchange under way.
type request struct {
	Exchange
	lease *lease
	wakes []uint64 // of each queue in Wants when it was asked
}

// next waits for something to say to the database. It returns false when the worker is closed and all is said, and a
// request without lease when doubt is to be resolved first.
func (w *Worker) next() (request, []*attempt, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		l := w.lease
		switch {
		case w.closed && (len(w.finished) == 0 || l == nil):
			return request{}, nil, false
		case l == nil:
		case w.doubt:
			if w.exchange == 0 {
				w.exchange++
				return request{}, nil, true
			}
		default:
			x := request{lease: l, Exchange: Exchange{Worker: l.worker}}
			w.addWants(&x)
			if len(x.Wants) == 0 && len(w.finished) == 0 {
				break
			}
			n := min(len(w.finished), w.limit)
			done := w.finished[:n:n]
			w.finished = w.finished[n:]
			x.Outcomes = make([]Outcome, n)
			for i, a := range done {
				x.Outcomes[i] = a.outcome
			}
			w.exchange++
			if len(x.Wants) > 0 {
				w.claiming++
			}
			return x, done, true
		}
		w.cond.Wait()
	}
}

// maxOutcomes bounds one exchange, so that it ends long before the lease.
const maxOutcomes = 5000

// addWants asks for jobs for free slots, unless a claim is under way: a second one would only step over the rows that the
// first one has locked.
func (w *Worker) addWants(x *request) {
	if w.stopping || w.claiming > 0 {
		return
	}
	now := time.Now()
	room := maxClaim
	for _, q := range w.queues {
		n := min(q.want(), room)
		if !q.ready || n <= 0 {
			continue
		}
		want := Want{Queue: q.name, N: n}
		if now.Sub(q.scanned) >= fullScanEvery {
			q.scanned, x.Ahead = now, true // from the beginning
		} else {
			for p := range want.After {
				want.After[p] = q.marks[p].after(now)
			}
		}
		x.Wants, x.wakes = append(x.Wants, want), append(x.wakes, q.wakes)
		q.taking += n
		room -= n
	}
	if len(x.Wants) == 0 {
		return
	}
	x.Ahead, w.ahead = x.Ahead || w.ahead, false
	// The queue served first changes, so that a full one does not keep the others waiting.
	w.queues = append(w.queues[1:], w.queues[0])
}

// settle takes in the answer to x: tells what is durable now and starts what was taken.
func (w *Worker) settle(ctx context.Context, x request, done []*attempt, res Exchanged) {
	slices.SortFunc(res.Jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt), cmp.Compare(a.ID, b.ID))
	})
	for _, job := range res.Jobs { // before any of them can end
		w.emit(Event{Type: EventClaimed, Job: job, Wait: job.ClaimedAt.Sub(job.RunAt)})
	}
	now := time.Now()
	w.mu.Lock()
	w.ended(x)
	w.limit = min(2*w.limit, maxOutcomes)
	untold := done[:0]
	for _, a := range done {
		if !a.lost {
			untold = append(untold, a)
		}
		// The other engine may have taken the job again already.
		if x.lease.held[a.job.ID] == a {
			delete(x.lease.held, a.job.ID)
		}
	}
	if w.lease == x.lease && res.Next > 0 {
		w.alarm(res.Next)
	}
	got := map[string]int{}
	taken := make([]*attempt, 0, len(res.Jobs))
	if w.lease == x.lease && !w.stopping { // otherwise they go back with the lease
		for _, job := range res.Jobs {
			q := w.byName[job.Queue]
			got[q.name]++
			q.size += (len(job.Args) - q.size) / 8
			q.marks[job.Priority-1].advance(Mark{job.RunAt, job.ID}, now)
			a := &attempt{job: job, queue: q, lease: x.lease, cancelled: job.Cancelling}
			x.lease.held[job.ID] = a
			taken = append(taken, a)
		}
	}
	if len(taken) > 0 {
		w.found()
	}
	for i, want := range x.Wants {
		q := w.byName[want.Queue]
		if got[q.name] < want.N && q.wakes == x.wakes[i] {
			q.ready = false
		}
	}
	var starting []*queue
	for _, a := range taken {
		q := a.queue
		if q.buffer = append(q.buffer, a); w.startable(q) {
			starting = append(starting, q)
		}
	}
	w.cond.Broadcast()
	w.mu.Unlock()

	for _, q := range starting {
		go w.work(q)
	}
	w.report(ctx, untold, res.Lost)
}

// ended undoes the bookkeeping of next. Worker.mu is held.
func (w *Worker) ended(x request) {
	w.exchange--
	if len(x.Wants) > 0 {
		w.claiming--
	}
	for _, want := range x.Wants {
		w.byName[want.Queue].taking -= want.N
	}
}

// report tells the hooks what became of done.
func (w *Worker) report(ctx context.Context, done []*attempt, lost []Lease) {
	gone := map[Lease]bool{}
	for _, l := range lost {
		gone[l] = true
	}
	for _, a := range done {
		e := a.event
		e.Job = a.job
		switch {
		case gone[a.outcome.Lease] && a.job.isCompleted():
			e.Type, e.Err = EventSucceeded, nil // by CompleteTx
		case gone[a.outcome.Lease] && !(a.unsure && w.counted(ctx, a)):
			e.Type, e.Err = EventLost, ErrLeaseLost
		}
		w.log(e)
		w.emit(e)
	}
}

// counted reports whether an outcome that seems lost was recorded by an exchange whose answer did not arrive. Whoever
// takes a job from its worker changes the fence, so the same fence without the worker is our own doing.
func (w *Worker) counted(ctx context.Context, a *attempt) bool {
	job, err := w.lookUp(ctx, a.job.ID)
	if err == nil && job == nil {
		return a.outcome.Discard
	}
	return err == nil && job.Fence == a.job.Fence && job.State != StateRunning
}

// lookUp asks for a job until there is an answer, for a lease at most. The job is nil when it is nowhere.
func (w *Worker) lookUp(ctx context.Context, id int64) (job *Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Lease)
	defer cancel()
	err = w.await(ctx, "look up job", func(ctx context.Context) (err error) {
		job, err = w.store.Get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
	return job, err
}

func (w *Worker) log(e Event) {
	switch e.Type {
	case EventFailed:
		w.cfg.Logger.Warn("job attempt failed", "job", e.Job.ID, "kind", e.Job.Kind, "attempt", e.Job.Attempt, "error", e.Err)
	case EventDead:
		w.cfg.Logger.Error("job failed", "job", e.Job.ID, "kind", e.Job.Kind, "attempt", e.Job.Attempt, "error", e.Err)
	case EventLost:
		w.cfg.Logger.Warn("job lost", "job", e.Job.ID, "kind", e.Job.Kind, "attempt", e.Job.Attempt)
	}
}

// exchangeFailed keeps the outcomes for the next exchange. The database may have carried out x nevertheless.
func (w *Worker) exchangeFailed(x request, done []*attempt, err error) {
	w.cfg.Logger.Warn("exchange with database, trying again", "outcomes", len(done), "error", err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended(x)
	if w.lease != x.lease {
		return
	}
	for _, a := range done {
		a.unsure = true
	}
	if isPermanent(err) && len(done) > 0 {
		done = w.refused(done, err)
	}
	w.finished = append(w.finished, done...)
	if len(x.Wants) > 0 {
		w.doubt, w.recheck = true, true
	}
	w.wakeAll(false)
}

// refused finds the one outcome that the database does not accept, so that it does not hold up the others: batches get
// smaller until it is alone. Then the attempt counts as failed, and the job runs again later. Worker.mu is held.
func (w *Worker) refused(done []*attempt, err error) []*attempt {
	w.limit = max(1, len(done)/2)
	if len(done) > 1 {
		return done
	}
	a := done[0]
	if a.refused {
		w.cfg.Logger.Error("outcome cannot be recorded; the job runs again when this worker ends", "job", a.job.ID, "error", err)
		delete(a.lease.held, a.job.ID)
		return nil
	}
	a.refused = true
	err = fmt.Errorf("the outcome could not be recorded: %w", err)
	a.outcome = Outcome{Lease: a.outcome.Lease, Verdict: Postpone, Delay: time.Minute, Error: attemptError(a.job, err)}
	a.event = Event{Type: EventFailed, Err: err, Took: a.event.Took}
	return done
}

// resolveDoubt gives back the jobs that the database holds for this worker without its knowing. No exchange is under
// way. A transaction of a connection that was cut may still be going on, so beatLoop has this done once more.
func (w *Worker) resolveDoubt(ctx context.Context) {
	w.mu.Lock()
	l := w.lease
	var keep []Lease
	if l != nil {
		keep = l.keep()
	}
	w.mu.Unlock()
	var err error
	if l != nil {
		io, cancel := context.WithTimeout(ctx, w.cfg.Lease/3)
		_, err = w.store.Release(io, l.worker, keep, false)
		cancel()
	}
	if err != nil {
		w.cfg.Logger.Warn("release after failed exchange", "error", err)
		sleep(ctx, jitter(100*time.Millisecond))
	}
	w.mu.Lock()
	w.exchange--
	if err == nil {
		w.doubt = false
		w.wakeAll(true)
	} else if w.closed {
		w.doubt = false // the lease will end
	}
	w.cond.Broadcast()
	w.mu.Unlock()
}

// work runs what is buffered for q, one job after the other, in one of its slots. While there is more and a slot is free, it
// has another goroutine do the same before it begins, but not before the last such goroutine has begun itself: so jobs that
// block start all at once, and jobs that do not are worked off by a few goroutines.
func (w *Worker) work(q *queue) {
	var running *attempt
	var start time.Time
	defer func() {
		if running != nil {
			w.exited(running, time.Since(start))
			go w.work(q) // in the slot of this one
		}
	}()
	for begun := false; ; begun = true {
		w.mu.Lock()
		if !begun {
			q.starting = false
		}
		if len(q.buffer) == 0 {
			q.busy--
			w.running--
			w.cond.Broadcast()
			w.mu.Unlock()
			return
		}
		a := q.buffer[0]
		q.buffer[0], q.buffer = nil, q.buffer[1:]
		more := w.startable(q)
		start = time.Now()
		ctx, cancel := context.WithCancelCause(a.lease.ctx)
		a.cancel = cancel
		if a.cancelled {
			cancel(ErrCancelled)
		} else if w.expired {
			cancel(ErrStopped)
		}
		if h := w.handlers[a.job.Kind]; h != nil && h.timeout > 0 {
			a.overdue = start.Add(h.timeout + w.cfg.Abandon)
		}
		w.mu.Unlock()
		if more {
			go w.work(q)
		}
		running = a
		outcome, event := w.perform(ctx, a.job)
		running = nil
		cancel(nil)
		event.Took = time.Since(start)
		w.finish(a, outcome, event)
	}
}

// exited takes the attempt as failed when its handler has called runtime.Goexit, as FailNow of a test does.
func (w *Worker) exited(a *attempt, took time.Duration) {
	a.cancel(nil)
	o, e := w.handlers[a.job.Kind].putBack(a.job, errExited)
	e.Took = took
	w.finish(a, o, e)
}

// startable takes a slot of q for another goroutine if there is something to do for it. Worker.mu is held.
func (w *Worker) startable(q *queue) bool {
	if q.starting || len(q.buffer) == 0 || q.busy == q.slots {
		return false
	}
	q.starting = true
	q.busy++
	w.running++
	return true
}

// finish notes the outcome of a, unless it does not count any more.
func (w *Worker) finish(a *attempt, o Outcome, e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.queue.measure(e.Took)
	if !a.settled {
		a.settled = true
		a.outcome, a.event = o, e
		w.record(a)
	}
}

// record puts a chosen outcome in line for the next exchange. Worker.mu is held.
func (w *Worker) record(a *attempt) {
	o := &a.outcome
	o.Lease = Lease{ID: a.job.ID, Fence: a.job.Fence}
	switch o.Verdict {
	case Succeed:
		o.Discard = a.queue.retention[0] == KeepNone
	case Fail, Abort:
		o.Discard = a.queue.retention[1] == KeepNone
	case Postpone:
		// The job may be due again before anything else wakes this worker.
		w.alarm(o.Delay)
	}
	w.finished = append(w.finished, a)
	w.cond.Broadcast()
}
