package jobqueue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"lessonkit.example/jobqueue/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run starts a worker in a synctest bubble and returns a function that stops it and returns how
// long that took.
func run(t *testing.T, m Store, cfg WorkerConfig, h HandlerFunc, opts ...HandleOption) (stop func() time.Duration) {
	w := NewWorker(m, cfg)
	Handle(w, "work", func(ctx context.Context, job *Job, _ any) error { return h(ctx, job) }, opts...)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() time.Duration {
		begin := time.Now()
		cancel()
		require.NoError(t, <-done)
		return time.Since(begin)
	}
}

func succeed(context.Context, *Job) error { return nil }

// No job waits longer than its bound, however long transactions take: one second and a poll after
// it could have started, and only a moment when its transaction took no longer than the watermark's
// lag and workers are notified.
func TestNoJobWaitsLongerThanItsBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		type arrival struct {
			At, Delay, Commit time.Duration // when it is inserted, its RunAt after that, its commit after that
			Priority          int
			Notified, Other   bool // workers are notified; in another queue
		}
		ms := func(most int) *rapid.Generator[time.Duration] {
			return rapid.Map(rapid.IntRange(0, most),
				func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
		}
		arrivals := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) arrival {
			return arrival{
				At: ms(1500).Draw(rt, "at"), Priority: rapid.IntRange(1, 2).Draw(rt, "priority"),
				Notified: rapid.Bool().Draw(rt, "notified"), Other: rapid.Bool().Draw(rt, "other"),
				Delay:  rapid.OneOf(rapid.Just(time.Duration(0)), ms(3000), rapid.Just(-time.Hour)).Draw(rt, "delay"),
				Commit: rapid.OneOf(rapid.Just(time.Duration(0)), ms(90), ms(2500)).Draw(rt, "commit"),
			}
		}), 1, 80).Draw(rt, "arrivals")
		var failure error
		synctest.Test(t, func(t *testing.T) {
			m := newModel()
			stop := run(t, m,
				WorkerConfig{Queues: map[string]QueueConfig{DefaultQueue: {}, "other": {MaxWorkers: 1}}}, succeed)
			type inserted struct {
				*modelJob
				arrival
				due time.Time
			}
			var jobs []inserted
			begin := time.Now()
			for _, a := range arrivals {
				time.AfterFunc(a.At, func() {
					queue := DefaultQueue
					if a.Other {
						queue = "other"
					}
					j := m.addTo(queue, time.Now().Add(a.Delay), time.Now().Add(a.Commit), a.Priority)
					due := time.Now().Add(max(a.Delay, a.Commit))
					m.locked(func() { jobs = append(jobs, inserted{j, a, due}) })
					if a.Notified {
						time.AfterFunc(a.Commit,
							func() { m.signal(driver.Signal{Queue: queue, In: time.Until(j.RunAt)}) })
					}
				})
			}
			time.Sleep(time.Until(begin.Add(10 * time.Second)))
			stop()
			for _, j := range jobs {
				late := j.claimed.Sub(j.due)
				bound := fullScanEvery + 1200*time.Millisecond
				if j.Notified && j.Delay <= 0 && j.Commit < watermarkLag {
					bound = 20 * time.Millisecond
				}
				if j.claimed.IsZero() || late < 0 || late > bound {
					failure = fmt.Errorf("%+v: claimed %v after it could start, bound %v", j.arrival, late, bound)
				}
			}
		})
		if failure != nil {
			rt.Fatal(failure)
		}
	})
}

// A job that is committed behind the watermark does not wait for the next poll.
func TestLateCommitDoesNotWaitForAPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		stop := run(t, m, WorkerConfig{PollInterval: time.Hour}, succeed)
		time.Sleep(5 * time.Second)
		const commit = 300 * time.Millisecond
		late := m.add(time.Now(), time.Now().Add(commit), 2)
		for range 2 { // the second is claimed with the watermark of the first
			time.Sleep(commit / 3)
			m.add(time.Now(), time.Now(), 2)
			m.signal(driver.Signal{Queue: DefaultQueue})
		}
		time.Sleep(commit / 3)
		m.signal(driver.Signal{Queue: DefaultQueue}) // of the late job
		state := func() (found bool, claims int) {
			m.locked(func() { found, claims = !late.claimed.IsZero(), m.claims })
			return found, claims
		}
		time.Sleep(10 * time.Millisecond)
		found, _ := state()
		require.False(t, found, "it is behind the watermark")
		time.Sleep(time.Second)
		found, claims := state()
		require.True(t, found)
		time.Sleep(30 * time.Minute)
		_, after := state()
		require.Equal(t, claims, after)
		stop()
	})
}

func TestIdleWorkerPollsSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		stop := run(t, m, WorkerConfig{}, succeed)
		time.Sleep(100 * time.Second)
		stop()
		require.InDelta(t, 100, m.claims, 15)
	})
}

// Exchanges fail before or after they have taken effect. Every job runs once, and is reported once.
func TestFailingExchangesLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		n := rapid.IntRange(1, 300).Draw(rt, "jobs")
		var failure error
		synctest.Test(t, func(t *testing.T) {
			m := newModel()
			random := rand.New(rand.NewPCG(seed, 1))
			m.fault = func(bool) error {
				if random.IntN(4) == 0 {
					return errAway
				}
				return nil
			}
			for range n {
				m.add(time.Now(), time.Now(), 2)
			}
			events := map[int64][]EventType{}
			runs := map[int64]int{}
			cfg := WorkerConfig{Queues: map[string]QueueConfig{DefaultQueue: {MaxWorkers: 7}}, OnEvent: func(e Event) {
				m.mu.Lock()
				defer m.mu.Unlock()
				if e.Type != EventClaimed {
					events[e.Job.ID] = append(events[e.Job.ID], e.Type)
				}
			}}
			stop := run(t, m, cfg, func(_ context.Context, job *Job) error {
				m.locked(func() { runs[job.ID]++ })
				return nil
			})
			time.Sleep(5 * time.Minute)
			stop()
			if len(m.done) != n || len(m.jobs) != 0 {
				failure = fmt.Errorf("%d of %d jobs done, %d left", len(m.done), n, len(m.jobs))
			}
			for id, types := range events {
				if len(types) != 1 || types[0] != EventSucceeded || runs[id] != 1 {
					failure = fmt.Errorf("job %d ran %d times, events %v", id, runs[id], types)
				}
			}
		})
		if failure != nil {
			rt.Fatal(failure)
		}
	})
}

// Responses of the database overtake each other: a job may be claimed again before its last attempt
// is known to be recorded. Each attempt is reported as claimed and then with its result, once.
func TestEveryAttemptIsReportedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		n := rapid.IntRange(1, 50).Draw(rt, "jobs")
		type attempt struct {
			id     int64
			number int
		}
		reported := map[attempt][]EventType{}
		synctest.Test(t, func(t *testing.T) {
			m := newModel()
			random := rand.New(rand.NewPCG(seed, 1))
			m.delay = func() time.Duration {
				m.mu.Lock()
				defer m.mu.Unlock()
				return time.Duration(random.IntN(20)) * time.Millisecond
			}
			for range n {
				m.add(time.Now(), time.Now(), 2)
			}
			cfg := WorkerConfig{Queues: map[string]QueueConfig{DefaultQueue: {MaxWorkers: 7}}, OnEvent: func(e Event) {
				m.mu.Lock()
				defer m.mu.Unlock()
				a := attempt{e.Job.ID, e.Job.Attempt}
				reported[a] = append(reported[a], e.Type)
			}}
			stop := run(t, m, cfg, func(_ context.Context, job *Job) error {
				if job.Attempt < 3 {
					return errAway
				}
				return nil
			}, WithBackoff(func(int) time.Duration { return time.Millisecond }))
			time.Sleep(time.Minute)
			stop()
		})
		require.Len(rt, reported, 3*n)
		for a, types := range reported {
			end := EventRetried
			if a.number == 3 {
				end = EventSucceeded
			}
			require.Equal(rt, []EventType{EventClaimed, end}, types, "attempt %d of job %d", a.number, a.id)
		}
	})
}

func TestPrefetchFollowsTheHandlersTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		took time.Duration
		cfg  int
		want int
	}{
		"unknown":           {0, 0, 0},
		"slow":              {10 * time.Millisecond, 0, 0},
		"fast":              {time.Millisecond, 0, 200},
		"very fast":         {time.Microsecond, 0, maxClaim},
		"fixed":             {time.Hour, 7, 7},
		"none":              {time.Microsecond, -1, 0},
		"a little too slow": {9 * time.Millisecond, 0, 22},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue("q", QueueConfig{MaxWorkers: 10}, c.cfg)
			if c.took > 0 {
				q.measure(c.took)
			}
			require.Equal(t, c.want, q.ahead())
			q.busy, q.claiming = 4, 3
			require.Equal(t, c.want+3, q.capacity())
			q.meanSize = driver.MaxExchangeBytes / 2
			require.LessOrEqual(t, q.capacity(), 2, "bounded by bytes")
		})
	}
}

// Jobs with large arguments, states and errors are exchanged in parts that fit into memory, and no
// attempt is counted for those that have to wait.
func TestLargeJobsAreExchangedInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		const n = 600
		large := []byte(`"` + strings.Repeat("x", 100_000) + `"`)
		for range n {
			m.add(time.Now(), time.Now(), 2).Args = large
		}
		start := make(chan struct{})
		cfg := WorkerConfig{Queues: map[string]QueueConfig{DefaultQueue: {MaxWorkers: n}}}
		stop := run(t, m, cfg, func(_ context.Context, job *Job) error {
			<-start
			require.NoError(t, job.Save(strings.Repeat("x", 60_000)))
			if job.Attempt == 1 {
				return errors.New("the first attempt fails")
			}
			return nil
		})
		synctest.Wait()
		m.locked(func() { require.Positive(t, m.released, "the first claim did not know their size") })
		close(start)
		time.Sleep(time.Minute)
		stop()
		require.Len(t, m.done, n)
		for _, j := range m.done {
			require.Equal(t, 2, j.Attempt)
		}
		require.Positive(t, m.largest)
		require.LessOrEqual(t, m.largest, driver.MaxExchangeBytes+60_002)
	})
}

func TestHandleRefusesInvalidRegistrations(t *testing.T) {
	t.Parallel()
	w := NewWorker(newModel(), WorkerConfig{})
	nothing := func(context.Context, *Job, any) error { return nil }
	Handle(w, "work", nothing)
	require.PanicsWithValue(t, `jobqueue: kind "work" has two handlers`, func() { Handle(w, "work", nothing) })
	require.Panics(t, func() { Handle(w, "", nothing) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, w.Run(ctx))
	require.Panics(t, func() { Handle(w, "late", nothing) })
	require.ErrorContains(t, w.Run(ctx), "Run called twice")
}

// One result that the database never accepts does not block the others.
func TestRefusedResultIsIsolated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		var bad *modelJob
		for i := range 100 {
			j := m.add(time.Now(), time.Now(), 2)
			if i == 37 {
				bad = j
			}
		}
		m.refuse = func(o driver.Result) bool { return o.ID == bad.ID && o.Action == driver.Complete && o.Fence == 1 }
		stop := run(t, m, WorkerConfig{}, succeed)
		time.Sleep(30 * time.Second)
		m.locked(func() { require.Len(t, m.done, 99) })
		time.Sleep(time.Minute)
		stop()
		require.Len(t, m.done, 100)
		require.Equal(t, 2, bad.Attempt, "the refused result counts as a failed attempt")
	})
}

// A job that is due after the longest Duration does not hide another one.
func TestFarJobDoesNotHideOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add(time.Now().AddDate(5000, 0, 0), time.Now(), 1)
		j := m.add(time.Now().Add(3*time.Second), time.Now(), 2)
		stop := run(t, m, WorkerConfig{PollInterval: time.Hour}, succeed)
		time.Sleep(time.Second)
		m.signal(driver.Signal{Queue: DefaultQueue, In: 1<<63 - 1})
		claims := func() (n int) {
			m.locked(func() { n = m.claims })
			return n
		}
		before := claims()
		time.Sleep(time.Second)
		require.Equal(t, before, claims(), "it is not a reason to poll now")
		time.Sleep(2 * time.Second)
		stop()
		require.WithinRange(t, j.claimed, j.RunAt, j.RunAt.Add(10*time.Millisecond))
	})
}

// While a queue has few jobs its claims are small, and need not take turns with those of others.
// They stay large while others take some of the jobs that they find.
func TestClaimsAreLargeOnlyWhileThereAreManyJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		cfg := WorkerConfig{Queues: map[string]QueueConfig{DefaultQueue: {MaxWorkers: 2000}}}
		stop := run(t, m, cfg, succeed)
		for range 100 {
			m.add(time.Now(), time.Now(), 2)
			time.Sleep(100 * time.Millisecond)
		}
		m.locked(func() {
			require.Equal(t, smallClaim, slices.Max(m.limits))
			m.limits, m.taken = nil, 10
		})
		for range 5000 {
			m.add(time.Now(), time.Now(), 2)
		}
		time.Sleep(time.Minute)
		stop()
		require.Equal(t, smallClaim, m.limits[0])
		require.NotContains(t, m.limits[1:], smallClaim)
		require.GreaterOrEqual(t, slices.Max(m.limits), 2000)
		require.Len(t, m.done, 5100)
	})
}

// claimsAtOnce is a model that counts the claims in progress.
type claimsAtOnce struct {
	*model
	now, most int
}

func (m *claimsAtOnce) Exchange(ctx context.Context, x driver.ExchangeRequest) (driver.ExchangeResponse, error) {
	n := min(len(x.Claims), 1)
	m.locked(func() { m.now += n; m.most = max(m.most, m.now) })
	defer m.locked(func() { m.now -= n })
	return m.model.Exchange(ctx, x)
}

func TestTwoClaimsAreInProgressOnlyWhereThatIsFaster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		jobs int
		key  string
		took time.Duration
		most int
	}{
		"many jobs":            {20_000, "", 10 * time.Millisecond, 2},
		"few jobs":             {900, "", 10 * time.Millisecond, 1},
		"jobs with limit keys": {20_000, "k", 10 * time.Millisecond, 1},
		"others claim too":     {20_000, "", overlapWithin, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &claimsAtOnce{model: newModel()}
				m.delay = func() time.Duration { return c.took }
				for range c.jobs {
					m.add(time.Now(), time.Now(), 2).LimitKey = c.key
				}
				cfg := WorkerConfig{Queues: map[string]QueueConfig{DefaultQueue: {MaxWorkers: 3000}}, Prefetch: 3000}
				stop := run(t, m, cfg, succeed)
				time.Sleep(time.Minute)
				stop()
				require.Equal(t, c.most, m.most)
				require.Len(t, m.done, c.jobs)
			})
		})
	}
}

// A wait for more jobs that is as long as the timeout leaves time for the call.
func TestHandleManyWaitsLessThanTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add(time.Now(), time.Now(), 2)
		w := NewWorker(m, WorkerConfig{Timeout: time.Minute})
		called := make(chan time.Duration, 1)
		begin := time.Now()
		HandleMany(w, "work", 10, time.Minute, func(context.Context, []*Job) []error {
			called <- time.Since(begin)
			return nil
		})
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		require.NoError(t, w.Run(ctx))
		require.InDelta(t, 30*time.Second, <-called, float64(time.Second))
		require.Len(t, m.done, 1)
	})
}

// While the database is away, each kind of line is there once a minute, whatever the error.
func TestOutageDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		var log bytes.Buffer
		queues := map[string]QueueConfig{"a": {Retention: time.Minute}, "b": {Retention: time.Minute}}
		stop := run(t, m, WorkerConfig{Logger: slog.New(slog.NewTextHandler(&log, nil)), Queues: queues}, succeed)
		time.Sleep(5 * time.Second)
		require.Empty(t, log.String())
		m.locked(func() { m.dead = true })
		time.Sleep(10 * time.Minute)
		m.locked(func() { m.dead = false })
		time.Sleep(10 * time.Minute)
		stop()
		lines := map[string]int{}
		for _, message := range regexp.MustCompile(`msg=("[^"]*"|\S+)( queue=\S+)?`).FindAllString(log.String(), -1) {
			lines[message]++
		}
		require.Contains(t, lines, `msg="rescue jobs of dead workers, trying again"`)
		require.Contains(t, lines, `msg="purge history" queue=a`)
		require.Contains(t, lines, `msg="purge history" queue=b`)
		for message, n := range lines {
			require.LessOrEqual(t, n, 11, message)
		}
	})
}
