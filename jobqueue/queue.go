package jobqueue

import "time"

// queue is what a worker knows about one queue. Worker.mu guards it.
type queue struct {
	name      string
	slots     int
	prefetch  int              // as configured
	retention [2]time.Duration // of succeeded jobs, of failed and cancelled ones

	busy     int        // handlers under way
	starting bool       // one of them has not begun yet
	buffer   []*attempt // taken, not started
	taking   int        // asked for by claims under way
	ready    bool       // a claim may find something
	wakes    uint64     // grows with every reason to set ready
	marks    [lowestPriority]watermark
	scanned  time.Time // start of the last claim from the beginning

	mean time.Duration // of handlers' time, moving
	size int           // of arguments in bytes, moving
}

func newQueue(name string, c QueueConfig, prefetch int) *queue {
	q := &queue{name: name, slots: c.Slots, prefetch: prefetch, ready: true}
	if q.slots == 0 {
		q.slots = defaultSlots
	}
	q.retention = [2]time.Duration{c.Retention, c.RetentionFailed}
	if q.retention[0] == 0 {
		q.retention[0] = 7 * 24 * time.Hour
	}
	if q.retention[1] == 0 {
		q.retention[1] = 30 * 24 * time.Hour
	}
	return q
}

const (
	prefetchTime  = 20 * time.Millisecond
	prefetchBelow = 10 * time.Millisecond
	prefetchBytes = 32 << 20
)

// ahead is how many jobs may be taken beyond the slots.
func (q *queue) ahead() int {
	switch {
	case q.prefetch != 0:
		return max(q.prefetch, 0)
	case q.mean == 0 || q.mean >= prefetchBelow:
		return 0
	}
	return int(min(maxClaim, time.Duration(q.slots)*prefetchTime/q.mean))
}

// want is how many jobs the queue can take now.
func (q *queue) want() int {
	n := q.slots + q.ahead() - q.busy - len(q.buffer) - q.taking
	if q.size > 0 {
		n = min(n, max(1, prefetchBytes/q.size))
	}
	return n
}

// wake notes that a claim may find something.
func (q *queue) wake() {
	q.ready = true
	q.wakes++
}

// measure adds one handler's time to the moving mean.
func (q *queue) measure(took time.Duration) {
	took = max(took, time.Microsecond)
	if q.mean == 0 {
		q.mean = took
		return
	}
	q.mean += (took - q.mean) / 16
}

// watermark remembers how far claims of one queue and priority have come, so that they need not step over the dead
// index entries of everything taken before: with a long transaction open elsewhere these cannot be cleaned up, and
// without the watermark every claim would cost more than the one before.
//
// A job can become visible behind the watermark: its transaction committed late, or its RunAt is in the past. So the
// watermark lags behind by watermarkLag, which covers ordinary transactions, and every fullScanEvery one claim starts
// from the beginning. No job waits longer than that.
type watermark struct {
	at       Mark // claims start after it
	newest   Mark // becomes at when it is watermarkLag old
	newestAt time.Time
}

const watermarkLag = 100 * time.Millisecond

// advance notes that everything up to m has been taken.
func (wm *watermark) advance(m Mark, now time.Time) {
	wm.mature(now)
	if wm.newestAt.IsZero() {
		wm.newest, wm.newestAt = m, now
	}
}

// after returns where a claim may start.
func (wm *watermark) after(now time.Time) Mark {
	wm.mature(now)
	return wm.at
}

func (wm *watermark) mature(now time.Time) {
	if !wm.newestAt.IsZero() && now.Sub(wm.newestAt) >= watermarkLag {
		if wm.at.before(wm.newest) {
			wm.at = wm.newest
		}
		wm.newestAt = time.Time{}
	}
}

func (m Mark) before(o Mark) bool {
	return m.RunAt.Before(o.RunAt) || m.RunAt.Equal(o.RunAt) && m.ID < o.ID
}
