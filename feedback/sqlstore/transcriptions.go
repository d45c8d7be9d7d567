package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

// segment is a segment that is being edited.
type segment struct {
	feedback.Segment
	round       int64  // of its newest task
	token       string // the lease token of the attempt; "" unless transcribing
	changedAt   time.Time
	turn        time.Time
	newRevision int64 // if it is changed
	tookMS      int64 // of the transcription
}

// selectEdited selects what scanEdited scans.
const selectEdited = `select ` + segmentColumns + `, round, coalesce(token, ''), changed_at, turn, took_ms
	from feedback_segments`

func scanEdited(r row) (g segment, err error) {
	g.Segment, err = scanSegmentAnd(r, &g.round, &g.token, (*db.Time)(&g.changedAt), (*db.Time)(&g.turn), &g.tookMS)
	return g, err
}

// ask sets the language of the next attempts. A task in another language is of no use.
func (g *segment) ask(language string) {
	if g.RetryLanguage != language {
		g.RetryLanguage, g.RecognizerTask = language, ""
	}
}

// fail sets the state after the last attempt: failed, unless there is a text.
func (g *segment) fail() {
	g.State, g.token = feedback.SegmentFailed, ""
	if !g.TranscribedAt.IsZero() {
		g.State = feedback.SegmentTranscribed
	}
}

func isWaiting(g feedback.Segment) bool {
	return g.State == feedback.SegmentQueued || g.State == feedback.SegmentTranscribing
}

// editSegment runs edit in a transaction that holds the lock of the segment's session, and saves
// the segment if edit has changed it.
func (s *Store) editSegment(
	ctx context.Context, op string, id uuid.UUID, at time.Time,
	edit func(ctx context.Context, tx *sql.Tx, g *segment) error,
) (feedback.Segment, error) {
	var g segment
	err := s.update(ctx, op, func(ctx context.Context, tx *sql.Tx) error {
		revision, err := one(ctx, tx, errSegment, scanValue[int64], `
			update feedback_sessions set revision = revision + 1, updated_at = $2
			where session_id = (select session_id from feedback_segments where segment_id = $1) returning revision`,
			id, db.Time(at))
		if err != nil {
			return err
		}
		g, err = one(ctx, tx, errSegment, scanEdited, selectEdited+` where segment_id = $1`, id)
		if err != nil {
			return err
		}
		g.newRevision = revision
		before := g
		if err := edit(ctx, tx, &g); err != nil || g == before {
			return err
		}
		return save(ctx, tx, &g, at)
	})
	return g.Segment, err
}

// save stores an edited segment.
func save(ctx context.Context, tx *sql.Tx, g *segment, at time.Time) error {
	g.Revision = g.newRevision
	_, err := tx.ExecContext(ctx, `
			update feedback_segments set state = $2, text = $3, error = $4, attempts = $5, round = $6, token = $7,
				duration_ms = $8, transcribed_at = $9, revision = $10, changed_at = $11, turn = $12, suspicions = $13,
				recognizer_task = $14, took_ms = $15, error_code = $16, audio_deleted_at = $17,
				details = $18, edited_text = $19, version = $20, retry_language = $21
			where segment_id = $1`,
		g.ID, string(g.State), g.Text, g.Error, g.Attempts, g.round,
		sql.NullString{String: g.token, Valid: g.token != ""},
		g.Duration.Milliseconds(), db.Time(g.TranscribedAt), g.Revision, db.Time(at),
		db.Time(g.turn), g.Suspicions, g.RecognizerTask, g.tookMS, g.ErrorCode,
		db.Time(g.AudioDeletedAt), g.Details, g.EditedText, g.Version, g.RetryLanguage)
	return err
}

// editSegments runs editSegment for each of the segments and returns them without those for which
// edit fails with errSegment, since they are no longer what they were selected for.
func (s *Store) editSegments(
	ctx context.Context, op string, ids []uuid.UUID, at time.Time,
	edit func(ctx context.Context, tx *sql.Tx, g *segment) error,
) (edited []feedback.Segment, err error) {
	for _, id := range ids {
		g, err := s.editSegment(ctx, op, id, at, edit)
		switch {
		case errors.Is(err, feedback.ErrNotFound):
		case err != nil:
			return edited, err
		default:
			edited = append(edited, g)
		}
	}
	return edited, nil
}

// requeue starts a new round with a task of its own.
func (s *Store) requeue(ctx context.Context, tx *sql.Tx, g *segment, at time.Time) (err error) {
	if g.turn, err = nextTurn(ctx, tx, g.Segment, at); err != nil {
		return err
	}
	g.State, g.Attempts, g.Suspicions = feedback.SegmentQueued, 0, 0
	g.ErrorCode, g.Error = "", ""
	g.token, g.round = "", g.newRevision
	return s.enqueue(ctx, tx, g.Segment, g.round, g.turn)
}

// StartTranscription marks a segment as transcribing under a lease token and returns it, also one
// that has failed or has an error: its task runs again because somebody has retried it in the
// queue. Another transcribed segment is returned unchanged. It fails with [feedback.ErrSuperseded]
// when a later round of the segment has begun, and with [feedback.ErrNotFound].
func (s *Store) StartTranscription(
	ctx context.Context, id uuid.UUID, round int64, leaseToken string, attempts int, at time.Time,
) (feedback.Segment, error) {
	return s.editSegment(ctx, "start transcription", id, at, func(_ context.Context, _ *sql.Tx, g *segment) error {
		if g.State == feedback.SegmentTranscribed && g.Error == "" {
			return nil
		}
		if g.round > round {
			return &feedback.Error{Kind: feedback.ErrSuperseded,
				Message: "the segment has been queued again since, with a newer task"}
		}
		if !isWaiting(g.Segment) {
			g.ErrorCode, g.Error, g.Suspicions = "", "", 0
		}
		g.State, g.Attempts, g.token = feedback.SegmentTranscribing, attempts, leaseToken
		return nil
	})
}

// FinishTranscription stores the result of an attempt. A segment that has a text keeps it if the
// attempt has none, and is transcribed instead of failed. It fails with [feedback.ErrSuperseded]
// unless the segment is transcribing under this lease token.
func (s *Store) FinishTranscription(
	ctx context.Context, id uuid.UUID, leaseToken string, r feedback.TranscriptionResult, at time.Time,
) (feedback.Segment, error) {
	return s.editSegment(ctx, "finish transcription", id, at, func(_ context.Context, _ *sql.Tx, g *segment) error {
		if g.State != feedback.SegmentTranscribing || g.token != leaseToken {
			return errTakenOver
		}
		g.State, g.token = r.State, ""
		g.ErrorCode, g.Error = r.ErrorCode, r.Error
		g.Attempts, g.Suspicions = r.Attempts, r.Suspicions
		if r.Duration > 0 {
			g.Duration = r.Duration.Truncate(time.Millisecond)
		}
		switch r.State {
		case feedback.SegmentFailed:
			g.fail()
		case feedback.SegmentTranscribed:
			g.Text, g.TranscribedAt, g.RecognizerTask, g.Details = r.Text, at, "", r.Details
			g.tookMS = max(r.Took.Milliseconds(), 1)
		}
		return nil
	})
}

// SaveRecognizerTask stores a name of the transcriber's, "" for none. It fails with
// [feedback.ErrSuperseded] unless the segment is transcribing under this lease token. The name
// stays until the segment is transcribed.
func (s *Store) SaveRecognizerTask(ctx context.Context, id uuid.UUID, leaseToken, task string, at time.Time) error {
	_, err := s.editSegment(ctx, "save task", id, at, func(_ context.Context, _ *sql.Tx, g *segment) error {
		if g.State != feedback.SegmentTranscribing || g.token != leaseToken {
			return errTakenOver
		}
		g.RecognizerTask = task
		return nil
	})
	return err
}

var errTakenOver = &feedback.Error{
	Kind: feedback.ErrSuperseded, Message: "another attempt has taken the segment over",
}

// FailTranscription marks a segment as failed, or as transcribed if it has a text, that is queued
// or transcribing in this round, under any lease token. A segment in another state or a later round
// is returned unchanged. With keepError, code and message do not replace the error of an earlier
// attempt.
func (s *Store) FailTranscription(
	ctx context.Context, id uuid.UUID, round int64, code, message string, keepError bool, at time.Time,
) (feedback.Segment, error) {
	g, err := one(ctx, s.db, errSegment, scanSegment,
		`select `+segmentColumns+` from feedback_segments where segment_id = $1`, id)
	if err != nil || !isWaiting(g) { // most often; this leaves the session's revision as it is
		return g, wrap("fail transcription", err)
	}
	return s.editSegment(ctx, "fail transcription", id, at, func(_ context.Context, _ *sql.Tx, g *segment) error {
		if !isWaiting(g.Segment) || g.round > round {
			return nil
		}
		g.fail()
		if g.Error == "" || !keepError {
			g.ErrorCode, g.Error = code, message
		}
		return nil
	})
}

// RequeueStuck puts the segments that have been transcribing since before a time back to queued,
// each with a [feedback.TaskTranscribe] for the outbox, and returns them. Each segment has a
// transaction of its own.
func (s *Store) RequeueStuck(ctx context.Context, before, at time.Time) ([]feedback.Segment, error) {
	ids, err := all(ctx, s.db, scanValue[uuid.UUID],
		`select segment_id from feedback_segments where state = 'transcribing' and changed_at < $1`,
		db.Time(before))
	if err != nil {
		return nil, wrap("find stuck segments", err)
	}
	return s.editSegments(ctx, "requeue segment", ids, at, func(ctx context.Context, tx *sql.Tx, g *segment) error {
		if g.State != feedback.SegmentTranscribing || !g.changedAt.Before(before) {
			return errSegment // finished or started again since
		}
		return s.requeue(ctx, tx, g, at)
	})
}

// ExpireAudio marks the audio of up to limit segments that have been transcribed since before a
// time as expired, gives the outbox a [feedback.TaskDeleteAudio] for each, and returns them, also
// with an error those before it. Concurrent calls return different segments, and one that returns
// none may have left all to the others. Each segment has a transaction of its own.
func (s *Store) ExpireAudio(
	ctx context.Context, before time.Time, limit int, at time.Time,
) ([]feedback.Segment, error) {
	ids, err := all(ctx, s.db, scanValue[uuid.UUID], `
		select segment_id from feedback_segments
		where state = 'transcribed' and audio_deleted_at is null and transcribed_at < $1
		order by transcribed_at limit $2`, db.Time(before), limit)
	if err != nil {
		return nil, wrap("find old audio", err)
	}
	return s.editSegments(ctx, "expire audio", ids, at, func(ctx context.Context, tx *sql.Tx, g *segment) error {
		if g.State != feedback.SegmentTranscribed || !g.AudioDeletedAt.IsZero() || !g.TranscribedAt.Before(before) {
			return errSegment // queued again, or expired by a concurrent call
		}
		g.AudioDeletedAt = at
		return s.addTask(ctx, tx, feedback.Task{Kind: feedback.TaskDeleteAudio, AudioKey: g.AudioKey})
	})
}

// AudioInUse returns those of the keys that belong to a segment whose audio has not expired.
func (s *Store) AudioInUse(ctx context.Context, keys []string) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	elements, list := s.elements(keys, "text")
	used, err := all(ctx, s.db, scanValue[string],
		`select audio_key from feedback_segments where audio_deleted_at is null and audio_key in (`+elements+`)`, list)
	return used, wrap("look up audio", err)
}
