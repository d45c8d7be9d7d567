package pgqueue

import (
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
