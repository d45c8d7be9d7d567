package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

const usageColumns = `bytes, segments, sessions, summaries, text_bytes, text_rows`

func scanUsage(r row) (u feedback.Usage, err error) {
	return u, r.Scan(&u.Bytes, &u.Segments, &u.Sessions, &u.Summaries, &u.TextBytes, &u.TextRows)
}

// usageDay returns the day that usage at a time is counted for.
func usageDay(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Usage returns what the teacher has used on the day (UTC) of a time.
func (s *Store) Usage(ctx context.Context, teacher uuid.UUID, at time.Time) (feedback.Usage, error) {
	u, err := one(ctx, s.db, nil, scanUsage,
		`select `+usageColumns+` from feedback_usage where teacher_id = $1 and day = $2`, teacher, usageDay(at))
	return u, wrap("read usage", err)
}

// AddUsage adds to what the teacher has used on the day (UTC) of a time, and returns the sum. Only
// the sums of one day are kept: what comes after the next day has begun counts for that.
func (s *Store) AddUsage(
	ctx context.Context, teacher uuid.UUID, u feedback.Usage, at time.Time,
) (sum feedback.Usage, err error) {
	err = s.update(ctx, "count usage", func(ctx context.Context, tx *sql.Tx) error {
		sum, err = addUsage(ctx, tx, teacher, u, at)
		return err
	})
	return sum, err
}

// addUsage locks the teacher's row until the transaction ends. After it a transaction locks nothing
// but the teacher's words.
func addUsage(
	ctx context.Context, q querier, teacher uuid.UUID, u feedback.Usage, at time.Time,
) (feedback.Usage, error) {
	// A row of another day is replaced, but what comes late counts for the next day, if that has
	// begun. Not for any later one: a clock that was wrong would count for it until then.
	const current = `f.day in (excluded.day, $9)`
	return scanUsage(q.QueryRowContext(ctx, `
		insert into feedback_usage as f (teacher_id, day, `+usageColumns+`) values ($1, $2, $3, $4, $5, $6, $7, $8)
		on conflict (teacher_id) do update set
			day = case when `+current+` then f.day else excluded.day end,
			bytes = excluded.bytes + case when `+current+` then f.bytes else 0 end,
			segments = excluded.segments + case when `+current+` then f.segments else 0 end,
			sessions = excluded.sessions + case when `+current+` then f.sessions else 0 end,
			summaries = excluded.summaries + case when `+current+` then f.summaries else 0 end,
			text_bytes = excluded.text_bytes + case when `+current+` then f.text_bytes else 0 end,
			text_rows = excluded.text_rows + case when `+current+` then f.text_rows else 0 end
		returning `+usageColumns,
		teacher, usageDay(at), u.Bytes, u.Segments, u.Sessions, u.Summaries, u.TextBytes, u.TextRows,
		usageDay(at.Add(24*time.Hour))))
}

// growth is the usage of a text that replaces another.
func growth(before, after string) feedback.Usage {
	return feedback.Usage{TextBytes: int64(max(len(after)-len(before), 0))}
}
