package pgqueue

import (
	"context"
	"strings"

	"lessonkit.example/jobqueue/driver"
)

// Whoever claims such a job next has no attempt left and only runs its Dead callback. A negative
// fence is unique too. An unlimited number of attempts would allow more.
const failDamagedSQL = `
update jobqueue_job j set
  worker = case when worker = 0 then 0 end, -- still held for its turn
  run_at = least(run_at, now()),
  fence = case when fence < 2147483647 then fence + 1 else -2147483647 end,
  attempt = d.last,
  max_attempts = d.last,
  errors = jsonb_build_array(jsonb_build_object(
    'attempt', d.last, 'at', now(), 'error', '` + driver.DamagedRow + `' || d.damage))
from (
  select id,
    case when max_attempts between 1 and 1000000 then max_attempts else 1 end as last,
    case
      when fence = 2147483647 then 'fence has reached its maximum'
      when attempt = 2147483647 then 'attempt has reached its maximum'
      else 'errors is not a JSON array of errors: ' || left(errors::text, 200)
    end as damage
  from jobqueue_job
  where fence = 2147483647 or attempt = 2147483647 or jsonb_typeof(errors) <> 'array') d
where j.id = d.id`

// despiteDamage runs f. If the database reports a data exception, damaged rows may be the cause: it
// fails their jobs, which reads every unfinished job, and runs f once more.
func (s *Store) despiteDamage(ctx context.Context, f func() error) error {
	err := f()
	if !strings.HasPrefix(code(err), "22") {
		return err
	}
	tag, damageErr := s.pool.Exec(ctx, s.sql(failDamagedSQL))
	if damageErr != nil || tag.RowsAffected() == 0 {
		return err
	}
	return f()
}
