package jobqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// executor exchanges results for new jobs with the database: each exchange records what has
// finished since the last one and claims jobs, in one transaction. There is no timer for results:
// while one transaction commits, the next batch collects, so that an idle worker commits each job
// at once and a busy one hundreds together.
//
// A job passes through a worker like this: an exchange claims it, work runs its handler, perform
// and resultOf (handler.go) translate the handler's error into a result, finish queues the result
// for the next exchange. lease.go keeps the lease, maintenance.go rescues the jobs of dead workers,
// poll.go decides when to claim.
func (w *Worker) executor(ctx context.Context) {
	const minPause = 10 * time.Millisecond
	pause := minPause
	var results []driver.Result // memory for those of the next exchange
	for {
		x, ok := w.next(results)
		if !ok {
			return
		}
		if x.lease == nil { // an earlier exchange failed
			if !w.resolveUncertainty(ctx, pause) {
				pause = min(2*pause, time.Second)
			}
			continue
		}
		io, cancel := context.WithTimeout(ctx, min(w.cfg.Lease, longIOTimeout))
		res, err := w.store.Exchange(io, x.ExchangeRequest)
		cancel()
		results = nil
		if err != nil {
			w.exchangeFailed(ctx, x, err)
			if !sleep(ctx, jitter(pause)) {
				return
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = minPause
		clear(x.Results)
		results = x.Results[:0]
		w.settle(ctx, x, res)
	}
}

type exchange struct {
	driver.ExchangeRequest
	lease *lease
	done  []*attempt // those of Results
	begun time.Time
	wakes []uint64 // queue.wakes of each queue in Claims when it was requested
}

// next waits until there is something to exchange. It returns false when the worker is closed and
// everything is recorded, and an exchange without lease when an uncertainty has to be resolved
// first. The exchange has its results in the memory of results.
func (w *Worker) next(results []driver.Result) (exchange, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		l := w.lease
		switch {
		case w.closed && (len(w.finished) == 0 || l == nil):
			return exchange{}, false
		case l == nil:
		case w.uncertain:
			if w.exchanges == 0 {
				w.exchanges++
				return exchange{}, true
			}
		default:
			x := exchange{
				lease: l, begun: time.Now(),
				ExchangeRequest: driver.ExchangeRequest{Worker: l.worker, Kinds: w.kinds},
			}
			w.addClaims(&x)
			if len(x.Claims) == 0 && len(w.finished) == 0 {
				break
			}
			n := w.recordable()
			x.done = w.finished[:n:n]
			w.finished = w.finished[n:]
			x.Results = slices.Grow(results, n)
			for _, a := range x.done {
				x.Results = append(x.Results, a.result)
			}
			w.exchanges++
			if len(x.Claims) > 0 {
				w.claims++
			}
			return x, true
		}
		w.cond.Wait()
	}
}

// maxResults limits one exchange, so that it ends long before the lease.
const maxResults = 5000

// recordable returns how many results the next exchange records. Worker.mu is held.
func (w *Worker) recordable() int {
	n := min(len(w.finished), w.maxResults)
	size := 0
	for i, a := range w.finished[:n] {
		if size += a.result.Size(); size > driver.MaxExchangeBytes {
			return max(i, 1)
		}
	}
	return n
}

// addClaims requests jobs for free workers, unless a claim is in progress: a second one would only
// step over the rows that the first one has locked. Large claims take turns instead, so a large one
// may begin while the jobs of the last are on their way from the database.
func (w *Worker) addClaims(x *exchange) {
	if w.stopping || w.claims > 1 || w.claims > 0 && !w.overlap {
		return
	}
	now := time.Now()
	left := maxClaim
	for _, q := range w.queues {
		n := min(q.capacity(), left)
		if !q.many {
			n = min(n, smallClaim)
		}
		if q.Limit > 0 && q.ready && q.inUse() >= q.slots && q.slots < q.wantSlots() {
			notify(w.wake.slots)
		}
		if !q.ready || n <= 0 || w.claims > 0 && n < overlapFrom/2 {
			continue
		}
		claim := driver.ClaimRequest{Queue: q.name, Limit: n, Rate: q.rate}
		if now.Sub(q.scanned) >= fullScanEvery {
			q.scanned, x.LookAhead = now, true // from the beginning
		} else {
			lagging := !w.polling.listening || now.Sub(q.changed) < watermarkLag
			for p := range claim.After {
				claim.After[p] = q.marks[p].after(now, lagging)
			}
		}
		x.Claims, x.wakes = append(x.Claims, claim), append(x.wakes, q.wakes)
		q.claiming += n
		left -= n
	}
	if len(x.Claims) == 0 {
		return
	}
	x.LookAhead, w.polling.lookAhead = x.LookAhead || w.polling.lookAhead, false
	// The queue served first changes, so that a full one does not keep the others waiting.
	w.queues = append(w.queues[1:], w.queues[0])
}

// mayOverlap reports whether two claims may be in progress, judging by one that took so long and
// returned these jobs. Those of jobs with limit keys wait for each other's commit, and where one
// takes long because other processes claim too, there is no gap to fill.
func mayOverlap(jobs []*driver.Job, took time.Duration) bool {
	return len(jobs) >= overlapFrom && took < overlapWithin &&
		!slices.ContainsFunc(jobs, func(j *driver.Job) bool { return j.LimitKey != "" })
}

// newAttempts reports the jobs that an exchange has claimed, and returns their attempts.
func (w *Worker) newAttempts(l *lease, jobs []*driver.Job) []*attempt {
	claimed := make([]*attempt, len(jobs))
	for i, d := range jobs {
		a := &attempt{
			job: newJob(d), row: d.Row, queue: w.byName[d.Queue], lease: l, handler: w.handlers[d.Kind],
			ctx: lazyContext{parent: l.ctx},
		}
		a.job.attempt = a
		w.emit(Event{Type: EventClaimed, Job: &a.job, Wait: waited(&a.job)}) // before any of them can end
		if d.Cancelling {
			a.cancel()
		}
		claimed[i] = a
	}
	return claimed
}

// settle processes the response to x: it reports what is durable now and starts what was claimed.
func (w *Worker) settle(ctx context.Context, x exchange, res driver.ExchangeResponse) {
	slices.SortFunc(res.Jobs, func(a, b *driver.Job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt), cmp.Compare(a.ID, b.ID))
	})
	claimed := w.newAttempts(x.lease, res.Jobs)
	now := time.Now()
	overlap := mayOverlap(res.Jobs, now.Sub(x.begun))
	w.mu.Lock()
	w.uncount(x)
	w.maxResults = min(2*w.maxResults, maxResults)
	unreported := x.done[:0]
	for _, a := range x.done {
		if !a.lost {
			unreported = append(unreported, a)
		}
		if a.result.Action == driver.Reschedule {
			a.queue.changed = now
		}
		// The other executor may have claimed the job again already.
		if x.lease.held[a.job.ID] == a {
			delete(x.lease.held, a.job.ID)
		}
	}
	if w.lease == x.lease && res.Next > 0 {
		w.alarm(res.Next)
	}
	w.uncertain = w.uncertain || w.lease == x.lease && res.Excess > 0
	if len(x.Claims) > 0 {
		w.overlap = overlap
	}
	got := map[string]int{}
	if w.lease != x.lease || w.stopping {
		claimed = nil // they are released with the lease
	}
	for _, a := range claimed {
		job, q := &a.job, a.queue
		got[q.name]++
		q.meanSize += (len(job.Args) + len(job.Saved) - q.meanSize) / 8
		mark, position := &q.marks[job.Priority-1], driver.Cursor{RunAt: job.RunAt, ID: job.ID}
		if position.Before(mark.at) {
			q.scanned = time.Time{} // more may be behind the watermark
		}
		mark.advance(position, now)
		x.lease.held[job.ID] = a
	}
	if len(claimed) > 0 {
		w.pollEagerly()
	}
	for i, claim := range x.Claims {
		q := w.byName[claim.Queue]
		if q.found = got[q.name] > 0; q.found {
			q.slotsUsed = now
		} else if q.slots > 0 {
			notify(w.wake.slots) // others may need them
		}
		full := got[q.name] == claim.Limit
		q.many = full || got[q.name] >= smallClaim // others may have taken a part of what it found
		if full {
			q.wake() // whatever another claim at the same time found
		} else if q.wakes == x.wakes[i] {
			q.ready = false
			if q.scanned.Before(q.changed) { // the new job may be behind the watermark
				w.alarmAt(q.scanned.Add(fullScanEvery))
			}
		}
	}
	var starting []*queue
	for _, a := range claimed {
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
	w.report(ctx, unreported, res)
}

// uncount undoes what next has counted. Worker.mu is held.
func (w *Worker) uncount(x exchange) {
	w.exchanges--
	if len(x.Claims) > 0 {
		w.claims--
	}
	for _, claim := range x.Claims {
		w.byName[claim.Queue].claiming -= claim.Limit
	}
}

// wasRecorded reports whether a result that seems lost was recorded by an exchange whose response
// did not arrive. Taking a job from its worker changes the fence, so the same fence without the
// worker means that the exchange was committed.
func (w *Worker) wasRecorded(ctx context.Context, a *attempt) bool {
	job, err := w.lookUp(ctx, a.job.ID)
	if err == nil && job == nil {
		return a.result.Discard
	}
	return err == nil && job.Fence == a.job.Fence && job.State != StateRunning
}

// lookUp gets a job, trying for as long as a lease. It returns nil when there is no such job.
func (w *Worker) lookUp(ctx context.Context, id int64) (job *Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Lease)
	defer cancel()
	err = w.await(ctx, "look up job", func(ctx context.Context) (err error) {
		job, err = NewClient(w.store).Get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
	return job, err
}

// exchangeFailed keeps the results for the next exchange. The database may have committed x
// nevertheless.
func (w *Worker) exchangeFailed(ctx context.Context, x exchange, err error) {
	w.warn("exchange with the database, trying again", "", err, "results", len(x.done))
	if a := w.takeBack(x, err); a != nil {
		w.logJob(ctx, slog.LevelError, "result cannot be recorded; the job runs again when this worker ends", &a.job,
			"error", err)
	}
}

// takeBack queues the results of x again, except that of an attempt that it returns: the database
// accepts none for it.
func (w *Worker) takeBack(x exchange, err error) (unrecordable *attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uncount(x)
	if w.lease != x.lease {
		return nil
	}
	for _, a := range x.done {
		a.unsure = true
	}
	done := x.done
	if isPermanent(err) && len(done) > 0 {
		done, unrecordable = w.isolateRefused(done, err)
	}
	w.finished = append(w.finished, done...)
	if len(x.Claims) > 0 {
		w.uncertain, w.recheck = true, true
	}
	w.wakeAll(false)
	return unrecordable
}

// isolateRefused isolates the one result that the database does not accept, so that the others can
// be recorded: batches get smaller until it is alone. Then the attempt counts as failed, and the
// job runs again later. If the database does not accept that either, the attempt is dropped and
// returned. Worker.mu is held.
func (w *Worker) isolateRefused(done []*attempt, err error) (rest []*attempt, unrecordable *attempt) {
	w.maxResults = max(1, len(done)/2)
	if len(done) > 1 {
		return done, nil
	}
	a := done[0]
	if a.refused {
		delete(a.lease.held, a.job.ID)
		return nil, a
	}
	a.refused = true
	err = fmt.Errorf("the result could not be recorded: %w", err)
	a.result = driver.Result{
		Lease: a.result.Lease, LimitKey: a.job.LimitKey, Group: a.job.Group,
		Action: driver.Reschedule, Delay: time.Minute, Error: attemptError(&a.job, err),
	}
	a.event = Event{Type: EventRetried, Err: err, Took: a.event.Took}
	return done, nil
}

// resolveUncertainty releases the jobs that the database holds for this worker without its
// knowledge, or returns false after a pause. No exchange is in progress. A transaction of a broken
// connection may still be running, so heartbeatLoop requests this once more.
func (w *Worker) resolveUncertainty(ctx context.Context, pause time.Duration) bool {
	w.mu.Lock()
	l := w.lease
	var keep []driver.Lease
	if l != nil {
		keep = l.keep()
	}
	w.mu.Unlock()
	var err error
	if l != nil {
		io, cancel := context.WithTimeout(ctx, min(w.cfg.Lease/3, ioTimeout))
		_, err = w.store.Release(io, l.worker, keep, false)
		cancel()
	}
	if err != nil {
		w.warn("release jobs after failed exchange", "", err)
		sleep(ctx, jitter(pause))
	}
	w.mu.Lock()
	w.exchanges--
	if err == nil {
		w.uncertain = false
		w.wakeAll(true)
	} else if w.closed {
		w.uncertain = false // the lease will expire
	}
	w.cond.Broadcast()
	w.mu.Unlock()
	return err == nil
}

// work runs the buffered jobs of q one after the other, as one of its MaxWorkers. While there are
// more and another worker is free, it starts another goroutine before it begins a job, but not
// before the last such goroutine has begun: so jobs that block start all at once, and jobs that do
// not are processed by a few goroutines.
func (w *Worker) work(q *queue) {
	start := time.Now()
	var running *attempt
	defer func() {
		if a := running; a != nil { // its handler has called runtime.Goexit, as FailNow of a test does
			a.ctx.end(nil)
			result, event := a.handler.retry(&a.job, errGoexit)
			event.Took = time.Since(start)
			w.mu.Lock()
			w.finish(a, result, event)
			w.mu.Unlock()
			go w.work(q) // in place of this goroutine
		}
	}()
	w.mu.Lock()
	q.starting = false
	for len(q.buffer) > 0 {
		a := q.buffer[0]
		q.buffer[0], q.buffer = nil, q.buffer[1:]
		more := w.startable(q)
		a.started(start)
		w.mu.Unlock()
		if more {
			go w.work(q)
		}
		running = a
		result, event := w.perform(a, start)
		running = nil
		a.ctx.end(nil)
		end := time.Now()
		event.Took = end.Sub(start)
		start = end
		w.mu.Lock()
		w.finish(a, result, event)
	}
	q.busy--
	w.running--
	w.cond.Broadcast()
	w.mu.Unlock()
}

// startable reserves another worker of q if there is a job for it. Worker.mu is held.
func (w *Worker) startable(q *queue) bool {
	if q.starting || len(q.buffer) == 0 || q.busy == q.MaxWorkers {
		return false
	}
	q.starting = true
	q.busy++
	w.running++
	return true
}

// finish sets the result of a, unless it already has one. Worker.mu is held.
func (w *Worker) finish(a *attempt, r driver.Result, e Event) {
	a.queue.measure(e.Took)
	if !a.settled {
		w.settleAttempt(a, r, e)
	}
}

// settleAttempt queues the result of a for the next exchange. Worker.mu is held.
func (w *Worker) settleAttempt(a *attempt, r driver.Result, e Event) {
	r.Lease = driver.Lease{ID: a.job.ID, Fence: a.job.Fence}
	r.LimitKey, r.Group, r.Row, r.Saved = a.job.LimitKey, a.job.Group, a.row, a.saved
	switch r.Action {
	case driver.Complete:
		r.Discard = a.queue.Retention == KeepNone
	case driver.Fail:
		r.Discard = a.queue.RetentionFailed == KeepNone
	case driver.Reschedule:
		// The job may be due again before anything else wakes this worker.
		w.alarm(r.Delay)
	}
	a.settled, a.result, a.event = true, r, e
	w.finished = append(w.finished, a)
	w.cond.Broadcast()
}
