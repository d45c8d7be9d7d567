package queuetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// The environment of a worker process: the database, the lease, and of a floor its name and the
// referee.
const (
	databaseEnv = "JOBQUEUE_TEST_DATABASE"
	leaseEnv    = "JOBQUEUE_TEST_LEASE"
	floorEnv    = "JOBQUEUE_TEST_FLOOR"
	refereeEnv  = "JOBQUEUE_TEST_REFEREE"
)

var floors = flag.Bool("floors", false, "run the floors")

// RunFloors runs tests with worker processes that are killed all the time, if the flag -floors is
// given. open returns a new, migrated queue, and what WorkerProcess opens.
func RunFloors(t *testing.T, open func(t *testing.T) (store driver.Store, database string)) {
	if !*floors {
		t.Skip("-floors runs it")
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T, x *floor)
	}{
		{"Schedules", floorSchedules}, {"LimitKeys", floorLimitKeys}, {"Groups", floorGroups},
		{"Limit", floorLimit}, {"Rate", floorRate},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, database := open(t)
			c.test(t, &floor{t: t, name: c.name, database: database, client: jobqueue.NewClient(store)})
		})
	}
}

const (
	floorLimitN     = 10
	floorScheduled  = 20
	floorEvery      = 100 * time.Millisecond
	floorRateN      = 200
	floorRateBurst  = 10
	floorLease      = 2 * time.Second
	floorMaxWorkers = 10
)

// WorkerEnv is an environment in which the test program is a worker process: see WorkerProcess.
func WorkerEnv(database string, lease time.Duration) []string {
	return append(os.Environ(), databaseEnv+"="+database, leaseEnv+"="+lease.String())
}

// WorkerProcess does nothing, unless the environment makes the test program a worker process. That
// opens the database by open, runs jobs of kind "work", whose arguments are how long they take,
// until it is interrupted, prints how many results were lost, and exits.
func WorkerProcess(open func(ctx context.Context, database string) (driver.Store, error)) {
	database := os.Getenv(databaseEnv)
	if database == "" {
		return
	}
	if err := work(database, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func work(database string, open func(ctx context.Context, database string) (driver.Store, error)) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err1 := open(ctx, database)
	lease, err2 := time.ParseDuration(os.Getenv(leaseEnv))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	cfg := floorConfig(os.Getenv(floorEnv))
	var lost atomic.Int64
	cfg.Lease, cfg.OnEvent = lease, func(e jobqueue.Event) {
		if e.Type == jobqueue.EventLost {
			lost.Add(1)
		}
	}
	w := jobqueue.NewWorker(store, cfg)
	jobqueue.Handle(w, "work", func(ctx context.Context, job *jobqueue.Job, d time.Duration) error {
		return play(ctx, os.Getenv(refereeEnv), job, func() { time.Sleep(d) })
	})
	err := w.Run(ctx)
	fmt.Println("lost", lost.Load())
	return err
}

func floorConfig(name string) (cfg jobqueue.WorkerConfig) {
	queue := jobqueue.QueueConfig{MaxWorkers: floorMaxWorkers, Retention: jobqueue.KeepForever}
	switch name {
	case "Limit":
		queue.Limit = floorLimitN
	case "Rate":
		queue.Rate = jobqueue.Rate{N: floorRateN, Per: time.Second, Burst: floorRateBurst}
	case "Schedules":
		for i := range floorScheduled {
			schedule := fmt.Sprint("schedule ", i)
			cfg.Schedules = append(cfg.Schedules, jobqueue.Schedule{
				Name: schedule, When: jobqueue.Every(floorEvery), CatchUp: 1000, Overlap: true,
				Params: jobqueue.Params{Kind: "work", Args: 0, Meta: map[string]string{"name": schedule}},
			})
		}
	}
	cfg.Queues = map[string]jobqueue.QueueConfig{jobqueue.DefaultQueue: queue}
	return cfg
}

// floor is one queue with worker processes.
type floor struct {
	t              *testing.T
	name, database string
	client         *jobqueue.Client
	children       []*exec.Cmd // since killSome
	referee        *referee    // nil: none
}

func (x *floor) enqueue(ps []jobqueue.Params) {
	x.t.Helper()
	for batch := range slices.Chunk(ps, 1000) {
		_, err := x.client.EnqueueMany(x.t.Context(), batch)
		require.NoError(x.t, err)
	}
}

func (x *floor) start() *exec.Cmd {
	x.t.Helper()
	c := exec.Command(os.Args[0])
	c.Env, c.Stderr = append(WorkerEnv(x.database, floorLease), floorEnv+"="+x.name), os.Stderr
	if x.referee != nil {
		c.Env = append(c.Env, refereeEnv+"="+x.referee.listen.Addr().String())
	}
	require.NoError(x.t, c.Start())
	x.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// killSome kills and replaces one of n processes after the other for a time.
func (x *floor) killSome(n int, pause, d time.Duration) (kills int) {
	x.t.Helper()
	seed := rand.Uint64()
	x.t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		x.children = append(x.children, x.start())
	}
	for end := time.Now().Add(d); time.Now().Before(end); kills++ {
		time.Sleep(pause/2 + time.Duration(r.Int64N(int64(pause))))
		i := r.IntN(n)
		x.kill(i)
		x.children[i] = x.start()
	}
	return kills
}

func (x *floor) kill(i int) {
	x.t.Helper()
	require.NoError(x.t, x.children[i].Process.Kill())
	_ = x.children[i].Wait()
}

// wait waits until every job has ended, and returns all jobs in the order of their ids.
func (x *floor) wait(timeout time.Duration) []*jobqueue.Job {
	x.t.Helper()
	unfinished := []jobqueue.State{
		jobqueue.StateWaiting, jobqueue.StateScheduled, jobqueue.StateHeld, jobqueue.StateRunning,
	}
	empty := 0 // times in a row: a job that is rescued may be in no list once
	require.Eventually(x.t, func() bool {
		for _, state := range unfinished {
			jobs, _, err := x.client.List(x.t.Context(), jobqueue.Filter{State: state, Limit: 1})
			if err != nil || len(jobs) > 0 {
				empty = 0
				return false
			}
		}
		empty++
		return empty == 3
	}, timeout, 100*time.Millisecond, "all jobs end")
	return x.succeeded()
}

func (x *floor) succeeded() (all []*jobqueue.Job) {
	x.t.Helper()
	for f := (jobqueue.Filter{State: jobqueue.StateSucceeded, Limit: 1000}); ; {
		jobs, next, err := x.client.List(x.t.Context(), f)
		require.NoError(x.t, err)
		all, f.Before = append(all, jobs...), next
		if next == 0 {
			slices.Reverse(all)
			return all
		}
	}
}

// Eight processes with 20 schedules are killed all the time: no time is lost or becomes two jobs.
func floorSchedules(t *testing.T, x *floor) {
	kills := x.killSome(8, 250*time.Millisecond, 4*time.Second)
	for i := range x.children {
		x.kill(i) // or a job could end after one list and before the other
	}
	var times [floorScheduled][]time.Time
	var late []time.Duration
	jobs := x.succeeded()
	for _, state := range []jobqueue.State{jobqueue.StateWaiting, jobqueue.StateRunning} {
		unfinished, _, err := x.client.List(t.Context(), jobqueue.Filter{State: state, Limit: 1000})
		require.NoError(t, err)
		jobs = append(jobs, unfinished...)
	}
	for _, j := range jobs {
		var i int
		_, err := fmt.Sscanf(j.Meta["name"], "schedule %d", &i)
		require.NoError(t, err)
		times[i] = append(times[i], j.RunAt)
		if j.Fence == 1 {
			late = append(late, j.ClaimedAt.Sub(j.RunAt))
		}
	}
	require.Greater(t, len(jobs), 400)
	for i, at := range times {
		slices.SortFunc(at, time.Time.Compare)
		for k := 1; k < len(at); k++ {
			require.Equal(t, floorEvery, at[k].Sub(at[k-1]), "schedule %d: missing or double", i)
		}
	}
	slices.Sort(late)
	p99 := late[len(late)*99/100]
	t.Logf("%d jobs, %d kills, from time to claim p50 %v, p99 %v", len(jobs), kills, late[len(late)/2], p99)
}

// Four processes are killed while they run jobs of limit keys: never more of a key run than its
// limit, which one with three reaches, and those of a key with one run in order.
func floorLimitKeys(t *testing.T, x *floor) {
	const jobs, keys = 20_000, 200
	x.referee = newReferee(t)
	last, busy, most := map[string]int64{}, map[string]int{}, 0
	x.referee.begin = func(a attempt) {
		limit := 1
		if strings.HasPrefix(a.LimitKey, "three ") {
			limit = 3
		}
		if busy[a.LimitKey]++; busy[a.LimitKey] > limit || limit == 1 && a.ID < last[a.LimitKey] {
			t.Errorf("job %d of key %s: %d run, or %d was before it", a.ID, a.LimitKey,
				busy[a.LimitKey], last[a.LimitKey])
		}
		last[a.LimitKey], most = a.ID, max(most, busy[a.LimitKey])
	}
	x.referee.end = func(a attempt) { busy[a.LimitKey]-- }
	ps := make([]jobqueue.Params, jobs)
	for i := range ps {
		took := time.Duration(i/keys%3) * time.Millisecond
		if i%keys == 1 { // a key whose jobs also run together on a slow machine
			took = 100 * time.Millisecond
		}
		ps[i] = jobqueue.Params{Kind: "work", Args: took, LimitKey: fmt.Sprint(i % keys)}
		if i%keys%2 == 1 {
			ps[i].LimitKey, ps[i].KeyLimit = "three "+ps[i].LimitKey, 3
		}
	}
	x.enqueue(ps)
	began := time.Now()
	kills := x.killSome(4, 500*time.Millisecond, 6*time.Second)
	require.Len(t, x.wait(5*time.Minute), jobs)
	require.Equal(t, 3, most)
	t.Logf("%d jobs of %d keys in %v, %d kills", jobs, keys, time.Since(began), kills)
}

// Eight processes end the members of 40 groups, and are killed: each job after a group starts when
// all members have ended, and succeeds once.
func floorGroups(t *testing.T, x *floor) {
	const groups, members = 40, 16
	x.referee = newReferee(t)
	left := map[string]map[int64]bool{} // members that have not ended
	x.referee.begin = func(a attempt) {
		if a.After != "" && len(left[a.After]) > 0 {
			t.Errorf("job %d begins while %d members of %s have not ended", a.ID, len(left[a.After]), a.After)
		}
	}
	x.referee.end = func(a attempt) {
		if x.referee.ended[a.ID] > 0 {
			delete(left[a.Group], a.ID)
		}
	}
	var ps []jobqueue.Params
	for i := range groups {
		name := fmt.Sprint("group ", i)
		ps = append(ps, jobqueue.Params{Kind: "work", Args: 0, AfterGroup: name})
		for m := range members {
			took := time.Duration(1+m%3) * 100 * time.Millisecond
			ps = append(ps, jobqueue.Params{Kind: "work", Args: took, Group: name, MaxAttempts: 100})
		}
	}
	x.referee.mu.Lock()
	for i := range groups { // whole groups in each call
		batch := ps[i*(members+1) : (i+1)*(members+1)]
		rs, err := x.client.EnqueueMany(t.Context(), batch)
		require.NoError(t, err)
		left[batch[0].AfterGroup] = map[int64]bool{}
		for _, r := range rs[1:] {
			left[batch[0].AfterGroup][r.ID] = true
		}
	}
	x.referee.mu.Unlock()
	began := time.Now()
	kills := x.killSome(8, 500*time.Millisecond, 1600*time.Millisecond)
	all := x.wait(5 * time.Minute)
	require.Len(t, all, groups*(members+1))
	x.referee.mu.Lock()
	defer x.referee.mu.Unlock()
	again := 0
	for _, j := range all {
		begun := x.referee.begun[j.ID]
		require.LessOrEqual(t, begun, j.Fence, "a job begins once for each lease")
		require.Positive(t, x.referee.ended[j.ID])
		if begun > 1 {
			again++
		}
	}
	t.Logf("%d groups of %d in %v, %d kills; %d jobs began again after a kill", groups, members, time.Since(began),
		kills, again)
}

// Eight processes run jobs of a queue with a limit, and are killed: never more than the limit run
// at the same time, and the limit is used.
func floorLimit(t *testing.T, x *floor) {
	const jobs = 1200
	x.referee = newReferee(t)
	ps := make([]jobqueue.Params, jobs)
	for i := range ps {
		ps[i] = jobqueue.Params{Kind: "work", Args: 20 * time.Millisecond, MaxAttempts: 100}
	}
	x.enqueue(ps)
	kills := x.killSome(8, 2*time.Second, 3*time.Second)
	require.Len(t, x.wait(3*time.Minute), jobs)
	x.referee.mu.Lock()
	defer x.referee.mu.Unlock()
	t.Logf("%d jobs, %d kills, at most %d at the same time", jobs, kills, x.referee.most)
	require.Equal(t, floorLimitN, x.referee.most)
}

// Four processes start jobs of a queue with a rate.
func floorRate(t *testing.T, x *floor) {
	const jobs = floorRateN * 2
	x.enqueue(slices.Repeat([]jobqueue.Params{{Kind: "work", Args: 0}}, jobs))
	for range 4 {
		x.start()
	}
	all := x.wait(2 * time.Minute)
	require.Len(t, all, jobs)
	at := make([]time.Time, jobs)
	for i, j := range all {
		at[i] = j.ClaimedAt
	}
	slices.SortFunc(at, time.Time.Compare)
	for i := range at {
		for k := i; k < jobs; k++ {
			most := at[k].Sub(at[i]).Seconds()*floorRateN + floorRateBurst
			require.LessOrEqual(t, float64(k-i+1), most+1e-3, "starts %d to %d", i, k)
		}
	}
	mean := float64(jobs-floorRateBurst) / at[jobs-1].Sub(at[0]).Seconds()
	t.Logf("%d jobs, %.1f in a second", jobs, mean)
}
