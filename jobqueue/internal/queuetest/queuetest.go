// Package queuetest is the conformance suite that the tests of both engines run.
package queuetest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// Harness is one fresh, migrated queue, whose stores have OnEnqueue.
type Harness struct {
	Store driver.Store
	// Again returns another Store on the same database, like that of another process.
	Again func() driver.Store
	// Empty returns a store on a database without its tables.
	Empty func() driver.Store
	// Broken returns a store whose database cannot be reached.
	Broken func() driver.Store
	// InTx functions run f in a transaction of the caller and commit it unless f returns an error,
	// one for each kind of transaction that the store supports.
	InTx map[string]func(ctx context.Context, f func(tx Tx) error) error
	// Exec runs a statement on the database, without the store.
	Exec func(ctx context.Context, statement string) error
	// Notifies is set if the store wakes workers of other processes, not only those of its own.
	Notifies bool
}

// Tx contains the methods of a store bound to a transaction of the caller.
type Tx struct {
	Enqueue  func(ps ...jobqueue.Params) ([]jobqueue.InsertResult, error)
	Complete func(job *jobqueue.Job) error
	Save     func(job *jobqueue.Job, v any) error
}

// InSQL returns a function for InTx with transactions of database/sql.
func InSQL(db *sql.DB, store jobqueue.TxStore) func(ctx context.Context, f func(tx Tx) error) error {
	return func(ctx context.Context, f func(tx Tx) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // without effect after the commit
		if err := f(Tx{
			Enqueue: func(ps ...jobqueue.Params) ([]jobqueue.InsertResult, error) {
				return store.EnqueueManyTx(ctx, tx, ps)
			},
			Complete: func(job *jobqueue.Job) error { return store.CompleteTx(ctx, tx, job) },
			Save:     func(job *jobqueue.Job, v any) error { return store.SaveTx(ctx, tx, job, v) },
		}); err != nil {
			return err
		}
		return tx.Commit()
	}
}

// Run runs the suite; open creates a new queue for each test.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

var tests = map[string]func(*testing.T, Harness){
	"EnqueueKeepsEveryField":           enqueueKeepsEveryField,
	"EnqueueManyReturnsResultsInOrder": enqueueManyReturnsResultsInOrder,
	"UniqueKeyIsHeldAndFreed":          uniqueKeyIsHeldAndFreed,
	"UniqueWithinOneCall":              uniqueWithinOneCall,
	"UniqueKeysInOppositeOrders":       uniqueKeysInOppositeOrders,
	"TransactionCommitsOrNot":          transactionCommitsOrNot,
	"PriorityThenTimeThenId":           priorityThenTimeThenID,
	"FarTimesKeepTheirPlace":           farTimesKeepTheirPlace,
	"HookSeesEveryWayToEnqueue":        hookSeesEveryWayToEnqueue,
	"FenceDecidesWhoCompletes":         fenceDecidesWhoCompletes,
	"SuspendedWorkerIsIgnored":         suspendedWorkerIsIgnored,
	"HeartbeatKeepsTheLease":           heartbeatKeepsTheLease,
	"RescueFindsOrphans":               rescueFindsOrphans,
	"ReleaseKeepsNamedLeases":          releaseKeepsNamedLeases,
	"ResultsOfEveryKind":               resultsOfEveryKind,
	"RescheduleTwiceCountsOnce":        rescheduleTwiceCountsOnce,
	"CursorSkipsOnlyThePast":           cursorSkipsOnlyThePast,
	"LargeJobsAreClaimedInParts":       largeJobsAreClaimedInParts,
	"JobsOfAClaimAreIndependent":       jobsOfAClaimAreIndependent,
	"CompleteTxInAHandler":             completeTxInAHandler,
	"ErrorHistoryIsBounded":            errorHistoryIsBounded,
	"ErrorsAreAlwaysAnArray":           errorsAreAlwaysAnArray,
	"OnFailedAfterProcessDeath":        onFailedAfterProcessDeath,
	"OtherKindsAreLeftToOthers":        otherKindsAreLeftToOthers,
	"RunChecksTheSchema":               runChecksTheSchema,
	"CallbackIsDueUntilDone":           callbackIsDueUntilDone,
	"CancelledNotReturned":             cancelledInsteadOfReturning,
	"SameProcessIsWoken":               sameProcessIsWoken,
	"OthersAreWoken":                   othersAreWoken,
	"CancelReachesAll":                 cancelReachesAll,
	"ListPagesByStateQueueAndKind":     listPagesByStateQueueAndKind,
	"UnfinishedLeavesOutWhatHasEnded":  unfinishedLeavesOutWhatHasEnded,
	"SearchByArguments":                searchByArguments,
	"SearchReadsPartOfALongHistory":    searchReadsPartOfALongHistory,
	"StatsCount":                       statsCount,
	"ErrorsAreClassified":              errorsAreClassified,
	"ErrorsInTxAreClassified":          errorsInTxAreClassified,
	"RetryByHand":                      retryByHand,
	"CancelByHand":                     cancelByHand,
	"PurgeByAgeAndState":               purgeByAgeAndState,
	"ScheduleIsStoredAndChanged":       scheduleIsStoredAndChanged,
	"ScheduleTickHasAnEffectOnce":      scheduleTickHasAnEffectOnce,
	"SerialRunsOneAtATimeInOrder":      serialRunsOneAtATimeInOrder,
	"SerialWaitsForTheNextAttempt":     serialWaitsForTheNextAttempt,
	"SerialByHand":                     serialByHand,
	"SerialInTransactions":             serialInTransactions,
	"KeyLimitOfEachJobCounts":          keyLimitOfEachJobCounts,
	"KeyLimitFillsFreeTurns":           keyLimitFillsFreeTurns,
	"GroupStartsWhatWaitsForIt":        groupStartsWhatWaitsForIt,
	"GroupByHand":                      groupByHand,
	"GroupInTransactions":              groupInTransactions,
	"GroupIsRepairedByRescue":          groupIsRepairedByRescue,
	"GroupWithoutMembersStartsAtOnce":  groupWithoutMembersStartsAtOnce,
	"GroupStartsManyJobsInParts":       groupStartsManyJobsInParts,
	"GroupIsDeleted":                   groupIsDeleted,
	"PauseStopsClaims":                 pauseStopsClaims,
	"RetryManyByFilter":                retryManyByFilter,
	"CancelManyByFilter":               cancelManyByFilter,
	"CancelManyWhileWorkersClaim":      cancelManyWhileWorkersClaim,
	"SlotsAreSharedAndReturned":        slotsAreSharedAndReturned,
	"RateAllowsABurst":                 rateAllowsABurst,
	"RateKeepsNoOtherQueue":            rateKeepsNoOtherQueue,
	"SaveIsFenced":                     saveIsFenced,
	"SaveInTransactions":               saveInTransactions,
	"FiguresAreMerged":                 figuresAreMerged,
}

// never is a poll interval, or a lease, whose heartbeats also find jobs, that is longer than any
// test.
const never = time.Hour

// timeout limits every wait for something that should happen at once. It is generous, for busy
// machines.
const timeout = 3 * time.Minute

type args struct {
	N int `json:"n"`
}

// fill enqueues n jobs of kind "work" with arguments 0 to n-1 and returns their ids.
func fill(t *testing.T, s driver.Store, n int, change ...func(*jobqueue.Params)) []int64 {
	t.Helper()
	ps := make([]jobqueue.Params, n)
	for i := range ps {
		ps[i] = jobqueue.Params{Kind: "work", Args: args{i}}
		for _, f := range change {
			f(&ps[i])
		}
	}
	receipts, err := jobqueue.NewClient(s).EnqueueMany(t.Context(), ps)
	require.NoError(t, err)
	ids := make([]int64, n)
	for i, r := range receipts {
		ids[i] = r.ID
	}
	return ids
}

// enqueue enqueues one job and returns its id.
func enqueue(t *testing.T, s driver.Store, p jobqueue.Params) int64 {
	t.Helper()
	r, err := jobqueue.NewClient(s).Enqueue(t.Context(), p)
	require.NoError(t, err)
	require.False(t, r.Duplicate)
	return r.ID
}

func runAt(at time.Time) func(*jobqueue.Params) {
	return func(p *jobqueue.Params) { p.RunAt = at }
}

func maxAttempts(n int) func(*jobqueue.Params) {
	return func(p *jobqueue.Params) { p.MaxAttempts = n }
}

func exchange(t *testing.T, s driver.Store, x driver.ExchangeRequest) driver.ExchangeResponse {
	t.Helper()
	res, err := s.Exchange(t.Context(), x)
	require.NoError(t, err)
	return res
}

var kinds = []string{"work", "other"}

func claim(t *testing.T, s driver.Store, worker int64, queue string, n int) []*driver.Job {
	t.Helper()
	claims := []driver.ClaimRequest{{Queue: queue, Limit: n}}
	return exchange(t, s, driver.ExchangeRequest{Worker: worker, Claims: claims, Kinds: kinds}).Jobs
}

func register(t *testing.T, s driver.Store, lease time.Duration) int64 {
	t.Helper()
	id, err := s.Register(t.Context(), t.Name(), nil, lease)
	require.NoError(t, err)
	return id
}

// record sends results and returns the ids of those that were not recorded.
func record(t *testing.T, s driver.Store, worker int64, results ...driver.Result) (lost []int64) {
	t.Helper()
	for _, l := range exchange(t, s, driver.ExchangeRequest{Worker: worker, Results: results}).Lost {
		lost = append(lost, l.ID)
	}
	return lost
}

func result(j *driver.Job, v driver.Action) driver.Result {
	return driver.Result{Lease: driver.Lease{ID: j.ID, Fence: j.Fence}, Row: j.Row, Action: v}
}

// leased returns a claimed job for a transaction of the test.
func leased(j *driver.Job) *jobqueue.Job {
	return &jobqueue.Job{ID: j.ID, Worker: j.Worker, Fence: j.Fence}
}

func get(t *testing.T, s driver.Store, id int64) *driver.Job {
	t.Helper()
	j, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	return j
}

func stats(t *testing.T, s driver.Store) driver.Stats {
	t.Helper()
	stats, err := s.Stats(t.Context())
	require.NoError(t, err)
	return stats
}

func count(t *testing.T, h Harness, f jobqueue.Filter) int {
	t.Helper()
	f.Limit = 1000
	jobs, _, err := jobqueue.NewClient(h.Store).List(t.Context(), f)
	require.NoError(t, err)
	return len(jobs)
}

// die expires the lease of a worker, as if it had died.
func die(t *testing.T, s driver.Store, worker int64) {
	t.Helper()
	_, alive, err := s.Heartbeat(t.Context(), worker, 0)
	require.NoError(t, err)
	require.True(t, alive)
}

// rescue rescues jobs until it has found want of them.
func rescue(t *testing.T, s driver.Store, want int) {
	t.Helper()
	total := 0
	poll(t, "rescue", func() bool {
		n, err := s.Rescue(t.Context(), false)
		require.NoError(t, err)
		total += n
		return total >= want
	})
	require.Equal(t, want, total)
}

// running is a worker under test.
type running struct {
	t      *testing.T
	events chan jobqueue.Event
	stop   context.CancelFunc
	done   chan error
}

// start runs a worker whose handlers set registers, until the end of the test at the latest.
func start(t *testing.T, s driver.Store, cfg jobqueue.WorkerConfig, set func(w *jobqueue.Worker)) *running {
	t.Helper()
	r := &running{t: t, events: make(chan jobqueue.Event, 100_000), done: make(chan error, 1)}
	cfg.OnEvent = func(e jobqueue.Event) { r.events <- e }
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil)) // shown when the test fails
	}
	if cfg.Backoff == nil {
		cfg.Backoff = func(int) time.Duration { return time.Millisecond }
	}
	w := jobqueue.NewWorker(s, cfg)
	set(w)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r.stop = cancel
	go func() { r.done <- w.Run(ctx) }()
	t.Cleanup(func() { r.wait() })
	return r
}

// wait stops the worker and waits for Run to return.
func (r *running) wait() {
	r.stop()
	select {
	case err := <-r.done:
		require.NoError(r.t, err)
		r.done <- nil
	case <-time.After(timeout):
		require.Fail(r.t, "Run did not return")
	}
}

// succeed waits until n jobs have succeeded.
func (r *running) succeed(n int) {
	r.t.Helper()
	for range n {
		r.next(jobqueue.EventSucceeded)
	}
}

// next returns the next event of the given types and skips others.
func (r *running) next(types ...jobqueue.EventType) jobqueue.Event {
	r.t.Helper()
	late := time.After(timeout)
	for {
		select {
		case e := <-r.events:
			for _, typ := range types {
				if e.Type == typ {
					return e
				}
			}
		case <-late:
			require.FailNow(r.t, "no event", "waiting for %v", types)
		}
	}
}

// handle registers h for kind "work".
func handle(
	h func(ctx context.Context, job *jobqueue.Job, a args) error, opts ...jobqueue.HandleOption,
) func(*jobqueue.Worker) {
	return func(w *jobqueue.Worker) { jobqueue.Handle(w, "work", h, opts...) }
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(timeout):
		require.FailNow(t, "nothing received")
		panic("unreachable")
	}
}

// poll waits until ok returns true.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, timeout, 5*time.Millisecond, what)
}

var errTest = errors.New("error of the handler")

func nothing(context.Context, *jobqueue.Job, args) error { return nil }
