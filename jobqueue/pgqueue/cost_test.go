package pgqueue_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
)

// What enqueuing costs, counted, because counts do not depend on the machine.
func TestCostOfEnqueuing(t *testing.T) {
	t.Parallel()
	pool, polling, plans := explained(t)
	execSQL(t, pool, "set auto_explain.log_wal = on")
	store, client := pgqueue.New(pool, pgqueue.Config{}), jobqueue.NewClient(polling)
	ps := []jobqueue.Params{{Kind: "work"}, {Kind: "work"}, {Kind: "work"}}
	// statements and records of the log that f writes
	cost := func(f func() error) (statements int, logged float64) {
		plans()
		require.NoError(t, f())
		seen := plans()
		for _, plan := range seen {
			var p struct {
				Plan struct {
					Records float64 `json:"WAL Records"`
				}
			}
			require.NoError(t, json.Unmarshal([]byte(plan), &p))
			logged += p.Plan.Records
		}
		return len(seen), logged
	}
	_, err := client.EnqueueMany(t.Context(), ps) // the first pages
	require.NoError(t, err)
	_, many := cost(func() error { _, err := client.EnqueueMany(t.Context(), ps); return err })
	require.LessOrEqual(t, many, 3*3.0, "of each job its row, its place in the order of ids and that of waiting jobs")

	inTx := func(p jobqueue.Params) (statements int, logged float64) {
		return cost(func() error {
			return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				_, err := store.EnqueuePgx(t.Context(), tx, p)
				return err
			})
		})
	}
	statements, logged := inTx(ps[0])
	require.Equal(t, 1, statements, "with its notification")
	require.LessOrEqual(t, logged, 3.0)
	_, unique := inTx(jobqueue.Params{Kind: "work", UniqueKey: "k"})
	require.Greater(t, unique, logged+1, "and its key, and the second step of an insertion that may be a duplicate")
	statements, _ = inTx(jobqueue.Params{Kind: "work", UniqueKey: "k"})
	require.Equal(t, 2, statements, "and the job that there is")
}
