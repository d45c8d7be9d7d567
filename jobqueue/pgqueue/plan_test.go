package pgqueue_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

// buffers returns how many a claim after the cursor at priority 2 reads, with a plan made as in an
// exchange: once, without the values of the parameters.
func buffers(t *testing.T, pool *pgxpool.Pool, worker int64, after driver.Cursor) int {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	execSQL(t, tx, pgqueue.PlanSQL)
	execSQL(t, tx, "prepare claim_plan as "+pgqueue.ClaimSQL)
	var text string
	first := "'0001-01-01Z'"
	require.NoError(t, tx.QueryRow(t.Context(), fmt.Sprintf(
		`explain (analyze, buffers, format json) execute claim_plan (%d, '{default}', '{1}',
  array[%s, '%s', %s, %s]::timestamptz[], '{0, %d, 0, 0}', '{work, a kind that no job has}')`,
		worker, first, after.RunAt.Format(time.RFC3339Nano), first, first, after.ID)).Scan(&text))
	execSQL(t, tx, "deallocate claim_plan")
	require.NotContains(t, text, "{work", "a plan for any values")
	var plans []struct{ Plan node }
	require.NoError(t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// kinds is the argument of a claim of few kinds among others that the planner has never seen.
var kinds = []string{"work", "a kind that no job has"}

// node is a node of a query plan.
type node struct {
	Type     string  `json:"Node Type"`
	Index    string  `json:"Index Name"`
	Relation string  `json:"Relation Name"`
	Loops    float64 `json:"Actual Loops"`
	Rows     float64 `json:"Actual Rows"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Hit      int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Plans    []node
}

func (n node) all() []node {
	all := []node{n}
	for _, child := range n.Plans {
		all = append(all, child.all()...)
	}
	return all
}

// A transaction that stays open keeps dead entries in the index; claims behind the watermark do not
// step over them.
func TestWatermarkSkipsDeadEntries(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	pin, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer pin.Rollback(t.Context())
	execSQL(t, pin, "select count(*) from jobqueue_job")
	load(t, store, 20_000, 0, 0)
	worker := register(t, store)
	var after [4]driver.Cursor
	taken := 0
	for taken < 19_000 {
		res, err := store.Exchange(t.Context(), claimRequest(worker, 1000))
		require.NoError(t, err)
		x := driver.ExchangeRequest{Worker: worker}
		for _, j := range res.Jobs {
			if at := (driver.Cursor{RunAt: j.RunAt, ID: j.ID}); after[1].Before(at) {
				after[1] = at
			}
			x.Results = append(x.Results, driver.Result{Lease: driver.Lease{ID: j.ID, Fence: j.Fence}})
		}
		taken += len(res.Jobs)
		_, err = store.Exchange(t.Context(), x)
		require.NoError(t, err)
	}
	execSQL(t, pool, `analyze jobqueue_job`)
	with, without := buffers(t, pool, worker, after[1]), buffers(t, pool, worker, driver.Cursor{})
	require.Less(t, with*5, without, "buffers with the watermark %d, without %d", with, without)
	t.Logf("buffers with the watermark %d, without %d", with, without)
}

// Purges read a part of a long history of another queue at a time and each part once, also when the
// table has been emptied and filled again.
func TestPurgeReadsWhatIsNew(t *testing.T) {
	t.Parallel()
	pool, store, plans := explained(t)
	const n, batch = 20_000, 5000
	fill := func(from int) { // one job a second until now, every other one in another queue
		execSQL(t, pool, `
insert into jobqueue_done (id, state, finished_at, run_at, created_at, fence, attempt, max_attempts, priority,
  queue, kind, args)
select n, 4, at, at, at, 1, 1, 1, 2, case when n % 2 = 0 then 'short' else 'long' end, 'work', 'null'
from generate_series($1::int, $1::int + $2::int - 1) n, lateral (
  select clock_timestamp() - ($1::int + $2::int - n) * interval '1 second' as at) t`, from, n)
		execSQL(t, pool, `vacuum analyze jobqueue_done`)
	}
	purge := func(f driver.PurgeFilter) (deleted int, end int64, reads float64) {
		for {
			plans()
			n, last, err := store.Purge(t.Context(), f)
			require.NoError(t, err)
			rows := rowsRead(t, plans())
			require.LessOrEqual(t, rows, 3.0*batch)
			deleted, reads = deleted+n, reads+rows
			if last == f.After {
				return deleted, last, reads
			}
			f.After = last
		}
	}
	short := driver.PurgeFilter{State: driver.StateSucceeded, Queue: "short", Age: time.Minute}
	long := driver.PurgeFilter{State: driver.StateSucceeded, Queue: "long", Age: 48 * time.Hour}
	for round := range 3 {
		fill(1 + round*n)
		deleted, end, reads := purge(short)
		require.InDelta(t, n/2, deleted, 60)
		require.LessOrEqual(t, reads, 2.0*n+2*batch, "each job once, and those that are deleted twice more")
		short.After = end
		if round == 1 {
			execSQL(t, pool, `delete from jobqueue_done where id <= $1`, n)
		}
		deleted, _, reads = purge(long)
		require.Zero(t, deleted)
		require.LessOrEqual(t, reads, 1.0*batch)
	}
}
