package pgqueue

import (
	"context"
	"time"
)

// A process can stop reading or sending in the middle of an exchange, because it is suspended or
// its network fails. If the messages do not fit into the buffers of the connection, the transaction
// stays open, with locks on the row of its worker and on jobs, until the connection breaks, which
// can take hours. Rescue ends such transactions, because it could not rescue these jobs otherwise.

// endStuckSQL ends the connections on which one of the statements $2 has waited for its client for
// so long that a client that was alive would have given up. They are identified by the database and
// the user, by the statement, of which the server may show only the beginning, and by a lock on the
// table $4. In the simple protocol all statements are one text, which begins with $3.
// The first condition is evaluated once: usually no lease has ended, and nothing else is read.
const endStuckSQL = `
select pg_terminate_backend(a.pid)
from pg_stat_activity a
where exists (select from jobqueue_worker where expires_at < now())
  and a.datname = current_database() and a.usename = session_user and pg_has_role(a.usesysid, 'usage')
  and a.state = 'active' and a.wait_event_type = 'Client'
  and a.xact_start < now() - $1::bigint * interval '1 microsecond'
  and (starts_with(a.query, $3)
    or exists (select from unnest($2::text[]) q where length(a.query) >= 80 and starts_with(q, a.query)))
  and exists (
    select from pg_locks l
    where l.pid = a.pid and l.relation = $4::text::regclass and l.mode = 'RowExclusiveLock'
      and l.database = (select oid from pg_database where datname = current_database()))`

// exchangeStatements are the statements of an exchange that have large arguments or answers.
var exchangeStatements = []string{
	saveSQL, succeedSQL, discardSQL, endSQL, rescheduleSQL, claimSQL, turnClaimSQL, rateClaimSQL,
}

// endStuckExchanges ends exchanges that wait for their client for longer than a lease, if a lease
// has ended, and waits for up to a second until the server has rolled them back. Where the server
// does not have the functions and tables for it, or does not allow them, it does nothing. The
// lease of the caller is applied to the exchanges of all workers.
func (s *Store) endStuckExchanges(ctx context.Context, lease time.Duration) error {
	statements := make([]string, len(exchangeStatements))
	for i, query := range exchangeStatements {
		statements[i] = s.sql(query)
	}
	for range 50 {
		tag, err := s.pool.Exec(ctx, s.sql(endStuckSQL), lease.Microseconds(), statements, planSQL,
			s.sql("jobqueue_job"))
		switch code(err) {
		case undefinedTable, undefinedFunction, insufficientPrivilege, notSupported:
			return nil
		}
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
