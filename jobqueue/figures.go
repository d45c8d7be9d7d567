package jobqueue

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// Figure is what workers did with the jobs of a queue in one step of time: see [Client.Figures].
type Figure struct {
	Queue    string
	Start    time.Time // of the step
	Finished int       // jobs that have ended, in any way
	Failed   int       // those of them that failed permanently
	Started  int       // attempts
	// WaitP50 and WaitP95 are what half of these, and 95 of 100, have waited at most since the job
	// could have started, within a fifth; 0 if none started.
	WaitP50, WaitP95 time.Duration
}

// Figures returns what workers did with the jobs of a queue, or of all queues if it is empty, in
// the last time, at most 7 days, for each step of at least a minute in which there was anything, by
// queue and time. Workers add to the figures every ten seconds: those of the last ones are lost if
// a process is killed or the database is away, and jobs that ended without a worker do not count.
func (c *Client) Figures(ctx context.Context, queue string, last, step time.Duration) ([]Figure, error) {
	if err := (Filter{Queue: queue}).check(); err != nil {
		return nil, err
	}
	minutes, err := c.store.Minutes(ctx, queue, min(last, driver.KeepMinutes))
	if err != nil {
		return nil, failed(err, "figures")
	}
	step = max(step, time.Minute)
	var figures []Figure
	var waits [driver.WaitBuckets]int
	for i, m := range minutes {
		start := m.At.Truncate(step)
		f := Figure{Queue: m.Queue, Start: start}
		if n := len(figures); n > 0 && figures[n-1].Queue == m.Queue && figures[n-1].Start.Equal(start) {
			f, figures = figures[n-1], figures[:n-1]
		} else {
			waits = [driver.WaitBuckets]int{}
		}
		f.Finished, f.Failed = f.Finished+m.Finished, f.Failed+m.Failed
		for bucket, n := range minutes[i].Waits {
			waits[bucket] += n
			f.Started += n
		}
		f.WaitP50, f.WaitP95 = percentile(waits, f.Started, 0.5), percentile(waits, f.Started, 0.95)
		figures = append(figures, f)
	}
	return figures, nil
}

// waitBucket returns the counter of a wait: that of number i is for up to 2^(i/2) milliseconds, the
// last one for all above too.
func waitBucket(wait time.Duration) int {
	if wait <= time.Millisecond {
		return 0
	}
	return min(int(math.Ceil(2*math.Log2(float64(wait)/float64(time.Millisecond)))), driver.WaitBuckets-1)
}

// percentile returns the middle of the bucket that has the wait of the given rank among n.
func percentile(waits [driver.WaitBuckets]int, n int, rank float64) time.Duration {
	left := int(math.Ceil(float64(n) * rank))
	for i := range waits {
		if left -= waits[i]; left <= 0 && n > 0 {
			return time.Duration(math.Exp2(float64(i)/2-0.25) * float64(time.Millisecond))
		}
	}
	return 0
}

// counters count what a worker did with the jobs of a queue since it has last added that to the
// figures.
type counters struct {
	finished, failed atomic.Int64
	waits            [driver.WaitBuckets]atomic.Int64
}

func (c *counters) count(e Event) {
	switch e.Type {
	case EventClaimed:
		c.waits[waitBucket(e.Wait)].Add(1)
	case EventFailed:
		c.failed.Add(1)
		c.finished.Add(1)
	case EventSucceeded, EventCancelled:
		c.finished.Add(1)
	}
}

// take returns the counters and sets them to 0; ok is false if they are.
func (c *counters) take() (m driver.Minute, ok bool) {
	m.Finished, m.Failed = int(c.finished.Swap(0)), int(c.failed.Swap(0))
	ok = m.Finished > 0
	for i := range c.waits {
		if c.waits[i].Load() > 0 {
			m.Waits[i], ok = int(c.waits[i].Swap(0)), true
		}
	}
	return m, ok
}

const figuresEvery = 10 * time.Second

// figuresLoop adds to the figures what this worker did. Run does so once more when it has stopped.
func (w *Worker) figuresLoop(ctx context.Context) {
	for sleep(ctx, jitter(figuresEvery)) {
		w.addFigures(ctx, ioTimeout)
	}
}

func (w *Worker) addFigures(ctx context.Context, timeout time.Duration) {
	var minutes []driver.Minute
	for name, q := range w.byName {
		if m, ok := q.counters.take(); ok {
			m.Queue = name
			minutes = append(minutes, m)
		}
	}
	if len(minutes) == 0 {
		return
	}
	io, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := w.store.AddMinutes(io, minutes); err != nil {
		w.warn("add to the figures; those of the last seconds may be lost", "", err)
	}
}
