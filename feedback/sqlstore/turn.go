package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

// headStart is how long before its arrival the only unfinished recording of a teacher counts as
// queued. With n others the recording has 1/(n+1) of that. So teachers take turns: the first
// recording of each comes before the second of any, whoever uploaded first, while a recording that
// has waited for a day comes before all that arrive later.
const headStart = 24 * time.Hour

// maxWaiting limits the count of unfinished recordings, and so keeps every turn more than a minute
// in the past, where clocks of several machines agree that it is.
const maxWaiting = 1000

// nextTurn returns the turn of a recording that is queued now, at at: never before an unfinished
// one that the teacher queued earlier.
func nextTurn(ctx context.Context, tx *sql.Tx, g feedback.Segment, at time.Time) (time.Time, error) {
	const unfinished = ` from feedback_segments
		where teacher_id = $1 and segment_id <> $2 and state in ('queued', 'transcribing')`
	var waiting int
	var last time.Time
	err := tx.QueryRowContext(ctx, `
		select (select count(*) from (select 1`+unfinished+` limit $3) as t),
			(select max(turn)`+unfinished+`)`, g.TeacherID, g.ID, maxWaiting).Scan(&waiting, (*db.Time)(&last))
	turn := at.Add(-headStart / time.Duration(1+waiting)).Truncate(time.Microsecond)
	if !turn.After(last) {
		turn = last.Add(time.Microsecond)
	}
	return turn, err
}

// Unfinished returns the recordings of all teachers that are transcribing, and then those that are
// queued in the order of [feedback.Task.Turn], up to limit in all.
func (s *Store) Unfinished(ctx context.Context, limit int) ([]feedback.UnfinishedSegment, error) {
	unfinished, err := all(ctx, s.db, func(r row) (g feedback.UnfinishedSegment, err error) {
		var milliseconds int64
		err = r.Scan(&g.ID, &g.State, &milliseconds)
		g.Duration = time.Duration(milliseconds) * time.Millisecond
		return g, err
	}, `select segment_id, state, duration_ms from feedback_segments
		where state in ('queued', 'transcribing')
		order by state desc, turn limit $1`, limit)
	return unfinished, wrap("list unfinished segments", err)
}

// LastTranscriptions returns up to limit transcriptions of recordings of any teacher, the last one
// first, without recordings whose duration is unknown.
func (s *Store) LastTranscriptions(ctx context.Context, limit int) ([]feedback.TranscriptionTime, error) {
	last, err := all(ctx, s.db, func(r row) (t feedback.TranscriptionTime, err error) {
		var took, audio int64
		err = r.Scan((*db.Time)(&t.Ended), &took, &audio)
		t.Took, t.Audio = time.Duration(took)*time.Millisecond, time.Duration(audio)*time.Millisecond
		return t, err
	}, `select transcribed_at, took_ms, duration_ms from feedback_segments
		where took_ms > 0 and duration_ms > 0 and transcribed_at is not null
		order by transcribed_at desc limit $1`, limit)
	return last, wrap("list transcriptions", err)
}
