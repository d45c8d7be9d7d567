package jobqueue

import (
	"cmp"
	"math"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// queue is the state of one queue in a worker. Worker.mu guards it.
type queue struct {
	name        string
	QueueConfig     // with its defaults
	prefetch    int // as configured

	busy      int         // handlers running
	starting  bool        // one of them has not begun yet
	buffer    []*attempt  // claimed, not started
	claiming  int         // requested by claims in progress
	ready     bool        // a claim may find something
	rate      driver.Rate // Rate, for claims
	slots     int         // that the lease has, of a queue with a limit
	found     bool        // the last claim found a job
	many      bool        // the last claim found as many as it could, or smallClaim
	slotsUsed time.Time   // when a claim last found a job
	wakes     uint64      // incremented whenever ready is set
	marks     [driver.Priorities]watermark
	scanned   time.Time // start of the last claim from the beginning
	changed   time.Time // the last signal of a new job, or a result that returned one to the queue

	counters counters

	meanTime time.Duration // of handlers, moving average
	meanSize int           // of arguments and saved state in bytes, moving average
}

func newQueue(name string, c QueueConfig, prefetch int) *queue {
	c.MaxWorkers = cmp.Or(c.MaxWorkers, 50)
	c.Retention = cmp.Or(c.Retention, 7*24*time.Hour)
	c.RetentionFailed = cmp.Or(c.RetentionFailed, 30*24*time.Hour)
	q := &queue{name: name, QueueConfig: c, prefetch: prefetch, ready: true}
	if c.Rate.N > 0 {
		q.rate = driver.Rate{Every: c.Rate.every(), Burst: max(c.Rate.Burst, 1)}
	}
	return q
}

const (
	prefetchTime  = 20 * time.Millisecond
	prefetchBelow = 10 * time.Millisecond
)

// ahead returns how many jobs may be claimed beyond the free workers, regardless of their size.
func (q *queue) ahead() int {
	switch {
	case q.rate.Every > 0:
		return 0 // a job that is claimed starts
	case q.prefetch != 0:
		return max(q.prefetch, 0)
	case q.meanTime == 0 || q.meanTime >= prefetchBelow:
		return 0
	}
	return int(min(maxClaim, time.Duration(q.MaxWorkers)*prefetchTime/q.meanTime))
}

// capacity returns how many jobs the queue can claim now.
func (q *queue) capacity() int {
	ahead, fits := q.ahead(), math.MaxInt
	if q.meanSize > 0 {
		fits = max(1, driver.MaxExchangeBytes/q.meanSize)
		ahead = min(ahead, fits)
	}
	n := min(q.MaxWorkers+ahead-q.inUse(), fits)
	if q.Limit > 0 {
		n = min(n, q.slots-q.inUse())
	}
	return n
}

// wake records that a claim may find something.
func (q *queue) wake() {
	q.ready = true
	q.wakes++
}

func (q *queue) measure(took time.Duration) {
	took = max(took, time.Microsecond)
	if q.meanTime == 0 {
		q.meanTime = took
		return
	}
	q.meanTime += (took - q.meanTime) / 16
}

// watermark is the position up to which the jobs of one queue and priority have been claimed, so
// that a claim need not step over the dead index entries of everything claimed before: while a long
// transaction is open elsewhere these cannot be vacuumed, and without the watermark every claim
// would cost more than the one before.
//
// A job can become visible behind the watermark: its transaction committed late, or its RunAt is in
// the past. So for watermarkLag after the signal of a new job, and always without signals, the
// watermark lags behind by watermarkLag, which covers ordinary transactions; a claim after the
// signal of a job with an older RunAt starts from the beginning, and so does one every
// fullScanEvery, and one after a job was found behind the watermark. No job waits longer than that.
type watermark struct {
	last     driver.Cursor // the last job claimed
	at       driver.Cursor // lags behind
	newest   driver.Cursor // becomes at when it is watermarkLag old
	newestAt time.Time
}

const watermarkLag = 100 * time.Millisecond

// advance records that everything up to c has been claimed.
func (wm *watermark) advance(c driver.Cursor, now time.Time) {
	wm.mature(now)
	if wm.last.Before(c) {
		wm.last = c
	}
	if wm.newestAt.IsZero() {
		wm.newest, wm.newestAt = c, now
	}
}

// after returns where a claim may start.
func (wm *watermark) after(now time.Time, lagging bool) driver.Cursor {
	wm.mature(now)
	if lagging {
		return wm.at
	}
	return wm.last
}

func (wm *watermark) mature(now time.Time) {
	if !wm.newestAt.IsZero() && now.Sub(wm.newestAt) >= watermarkLag {
		if wm.at.Before(wm.newest) {
			wm.at = wm.newest
		}
		wm.newestAt = time.Time{}
	}
}
