package pgqueue

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
)

// Claims of many jobs at the same time would step over the rows that the others have locked, so
// they take turns. A process that is suspended in its turn keeps the lock until Rescue ends its
// exchange. So nobody waits for long, and who has waited in vain claims without a turn for a while.
const (
	turnFrom  = 500 // jobs; fewer are claimed faster than a turn ends, which includes a commit
	turnPause = 10 * time.Second

	turnWaitSQL = `select set_config('lock_timeout', '500ms', true)`
	turnSQL     = `select pg_advisory_xact_lock($1, 256)` // 0 to 255 are of serial keys
)

// turnClaimSQL is claimSQL for a claim in its turn. It does not lock the rows that it finds before
// it updates them, which saves time and space in the log. Instead it waits for a smaller claim or a
// cancellation that changes one of them at the same time, and leaves that row alone. The last
// column is how many rows were found.
var turnClaimSQL = `
with found as materialized (select ` + strings.Replace(claimable, skipLocked, "", 1) + ` as jobs)` + claimUpdate +
	`(select jobs from found)::tid[]` + claimReturning + `,
  (select cardinality(jobs) from found)`

// claimedInTurn returns a function that adds the claimed jobs to res and sets missed to how many
// were found but not claimed; 0 if none was claimed.
func claimedInTurn(x driver.ExchangeRequest, res *driver.ExchangeResponse, missed *int) func(pgx.Rows) error {
	var found int
	receive := claimed(x, res, &found)
	return func(rows pgx.Rows) error {
		err := receive(rows)
		*missed = max(0, found-int(rows.CommandTag().RowsAffected()))
		return err
	}
}

// takesTurn reports whether the claims of x take a turn.
func (s *Store) takesTurn(x driver.ExchangeRequest) bool {
	jobs := 0
	for _, c := range x.Claims {
		jobs += c.Limit
	}
	return jobs >= turnFrom && time.Now().UnixNano() >= s.turnsAgain.Load()
}

// queueTurn adds the statements that wait for the turn, which ends with the transaction.
func (s *Store) queueTurn(b *pgx.Batch) {
	b.Queue(turnWaitSQL)
	b.Queue(turnSQL, s.lockNamespace())
}

// withoutTurns reports whether err may be caused by a turn, and if so ends turns for a while.
func (s *Store) withoutTurns(err error) bool {
	switch code(err) {
	case lockNotAvailable, undefinedFunction, notSupported:
		s.turnsAgain.Store(time.Now().Add(turnPause).UnixNano())
		return true
	}
	return false
}
