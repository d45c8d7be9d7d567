package sqlitequeue

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"lessonkit.example/jobqueue/driver"
)

// Whoever claims such a job next has no attempt left and only runs its Dead callback. A negative
// fence is unique too. An unlimited number of attempts would allow more. ?1 is now, ?2 the same as
// text.
const failDamagedSQL = `
update jobqueue_job set
  worker = case when worker = 0 then 0 end, -- still held for its turn
  run_at = min(run_at, ?1),
  fence = case when fence < 9223372036854775807 then fence + 1 else -9223372036854775807 end,
  attempt = d.last,
  max_attempts = d.last,
  errors = json_array(json_object('attempt', d.last, 'at', ?2, 'error', '` + driver.DamagedRow + `' || d.damage))
from (
  select id,
    case when max_attempts between 1 and 1000000 then max_attempts else 1 end as last,
    case
      when fence = 9223372036854775807 then 'fence has reached its maximum'
      when attempt = 9223372036854775807 then 'attempt has reached its maximum'
      else 'errors is not a JSON array of errors: ' || substr(errors, 1, 200)
    end as damage
  from jobqueue_job
  where fence = 9223372036854775807 or attempt = 9223372036854775807
    or not case when json_valid(coalesce(errors, '[]')) then json_type(coalesce(errors, '[]')) = 'array' else 0 end) d
where jobqueue_job.id = d.id`

// updateDespiteDamage is update, but if f fails because of the data, damaged rows may be the cause:
// it fails their jobs, which reads every unfinished job, and runs f once more.
func (s *Store) updateDespiteDamage(ctx context.Context, f func(tx *sql.Tx, now int64) error) error {
	err := s.update(ctx, f)
	if !mayBeDamage(err) {
		return err
	}
	damaged := false
	damageErr := s.update(ctx, func(tx *sql.Tx, now int64) (err error) {
		damaged, err = affected(tx.Exec(failDamagedSQL, now, timeOf(now).Format(time.RFC3339Nano)))
		return err
	})
	if damageErr != nil || !damaged {
		return err
	}
	return s.update(ctx, f)
}

// mayBeDamage reports whether err is a number too large for its column or text that is not JSON.
// The code of the latter means an error of SQL in general.
func mayBeDamage(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_ERROR || e.Code() == sqlite3.SQLITE_CONSTRAINT_DATATYPE)
}
