package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/sqldb"
)

// locked is a segment that no other transaction can change.
type locked struct {
	feedback.Segment
	round    int64  // of the task that it waits for; 0 where an earlier version of this package queued it
	token    string // of the try that is transcribing
	revision int64  // of a change made now
}

// lockSegment reads a segment for changing and raises its session's revision.
func lockSegment(ctx context.Context, tx *sql.Tx, id uuid.UUID, at time.Time) (locked, error) {
	revision, err := one(ctx, tx, errSegment, func(r row) (n int64, err error) { return n, r.Scan(&n) }, `
		update feedback_sessions set revision = revision + 1, updated_at = $2
		where session_id = (select session_id from feedback_segments where segment_id = $1) returning revision`,
		id, sqldb.Time{Time: at})
	if err != nil {
		return locked{}, err
	}
	g, err := one(ctx, tx, errSegment, scanSegment,
		`select `+segmentColumns+` from feedback_segments where segment_id = $1`, id)
	if err != nil {
		return locked{}, err
	}
	f, err := one(ctx, tx, errSegment, func(r row) (f sql.NullString, err error) { return f, r.Scan(&f) },
		`select token from feedback_segments where segment_id = $1`, id)
	round, token, _ := strings.Cut(f.String, " ")
	n, _ := strconv.ParseInt(round, 10, 64) // no number: a row of an earlier version
	return locked{Segment: g, round: n, token: token, revision: revision}, err
}

// fence is what the column token holds of a segment that waits for its text:
// the round, and after a space the token of the try that is transcribing.
func fence(round int64, token string) string {
	return strings.TrimSpace(strconv.FormatInt(round, 10) + " " + token)
}

// save writes what a transcription changes. A segment that waits no more has no fence.
func (g *locked) save(ctx context.Context, tx *sql.Tx, at time.Time) error {
	g.Revision = g.revision
	waits := g.State == feedback.SegmentQueued || g.State == feedback.SegmentTranscribing
	_, err := tx.ExecContext(ctx, `
		update feedback_segments set state = $2, text = $3, error = $4, attempts = $5, token = $6,
			duration_ms = $7, transcribed_at = $8, revision = $9, changed_at = $10
		where segment_id = $1`,
		g.ID, string(g.State), g.Text, g.Error, g.Attempts, sql.NullString{String: fence(g.round, g.token), Valid: waits},
		g.Duration.Milliseconds(), sqldb.Time{Time: g.TranscribedAt}, g.Revision, sqldb.Time{Time: at})
	return err
}

// errAsItIs rolls back a change that turned out to be needless.
var errAsItIs = &feedback.Error{Message: "nothing to change"}

// changeSegment lets change alter a locked segment and saves it. The segment
// is returned as it is where change returns errAsItIs.
func (s *Store) changeSegment(ctx context.Context, op string, id uuid.UUID, at time.Time, change func(g *locked) error) (feedback.Segment, error) {
	var g locked
	err := s.update(ctx, op, func(ctx context.Context, tx *sql.Tx) (err error) {
		if g, err = lockSegment(ctx, tx, id, at); err != nil {
			return err
		}
		if err := change(&g); err != nil {
			return err
		}
		return g.save(ctx, tx, at)
	})
	if errors.Is(err, errAsItIs) {
		err = nil
	}
	return g.Segment, err
}

// BeginTranscription implements [feedback.TranscriptionStore].
func (s *Store) BeginTranscription(ctx context.Context, id uuid.UUID, token string, attempts int, at time.Time) (feedback.Segment, error) {
	return s.changeSegment(ctx, "begin transcription", id, at, func(g *locked) error {
		if g.State != feedback.SegmentQueued && g.State != feedback.SegmentTranscribing {
			return errAsItIs
		}
		g.State, g.Attempts, g.token = feedback.SegmentTranscribing, attempts, token
		return nil
	})
}

// EndTranscription implements [feedback.TranscriptionStore].
func (s *Store) EndTranscription(ctx context.Context, id uuid.UUID, token string, o feedback.Outcome, at time.Time) (feedback.Segment, error) {
	return s.changeSegment(ctx, "end transcription", id, at, func(g *locked) error {
		if g.State != feedback.SegmentTranscribing || g.token != token {
			return &feedback.Error{Kind: feedback.ErrSuperseded, Message: "another worker has taken the segment over"}
		}
		g.State, g.Text, g.Error, g.Attempts, g.token = o.State, o.Text, o.Error, o.Attempts, ""
		if o.Duration > 0 {
			g.Duration = o.Duration.Truncate(time.Millisecond)
		}
		if o.State == feedback.SegmentTranscribed {
			g.TranscribedAt = at
		}
		return nil
	})
}

// AbandonTranscription implements [feedback.TranscriptionStore].
func (s *Store) AbandonTranscription(ctx context.Context, id uuid.UUID, round int64, message string, at time.Time) (feedback.Segment, error) {
	return s.changeSegment(ctx, "abandon transcription", id, at, func(g *locked) error {
		if g.State != feedback.SegmentQueued && g.State != feedback.SegmentTranscribing {
			return errAsItIs
		}
		if g.round != 0 && g.round != round {
			return errAsItIs // queued again since
		}
		g.State, g.token = feedback.SegmentFailed, ""
		if g.Error == "" {
			g.Error = message
		}
		return nil
	})
}

// RequeueStuck implements [feedback.TranscriptionStore], one segment at a time.
func (s *Store) RequeueStuck(ctx context.Context, before, at time.Time) ([]feedback.Segment, error) {
	ids, err := all(ctx, s.read(), func(r row) (id uuid.UUID, err error) { return id, r.Scan(&id) },
		`select segment_id from feedback_segments where state = 'transcribing' and changed_at < $1`, sqldb.Time{Time: before})
	if err != nil {
		return nil, wrap("find stuck segments", err)
	}
	var requeued []feedback.Segment
	for _, id := range ids {
		var g locked
		err := s.update(ctx, "requeue segment", func(ctx context.Context, tx *sql.Tx) (err error) {
			if g, err = lockSegment(ctx, tx, id, at); err != nil {
				return err
			}
			stuck, err := one(ctx, tx, errSegment, func(r row) (b bool, err error) { return b, r.Scan(&b) },
				`select state = 'transcribing' and changed_at < $2 from feedback_segments where segment_id = $1`, id, sqldb.Time{Time: before})
			if err == nil && !stuck {
				err = errAsItIs
			}
			if err != nil {
				return err
			}
			return s.requeue(ctx, tx, &g, at)
		})
		switch {
		case errors.Is(err, errAsItIs), errors.Is(err, feedback.ErrNotFound): // finished or deleted meanwhile
		case err != nil:
			return requeued, err
		default:
			requeued = append(requeued, g.Segment)
		}
	}
	return requeued, nil
}

// AudioInUse implements [feedback.TranscriptionStore]. The keys travel as one JSON text, which both engines take apart.
func (s *Store) AudioInUse(ctx context.Context, keys []string) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	query := `select audio_key from feedback_segments where audio_key in (select value from json_each($1))`
	if s.db.Engine == migrate.Postgres {
		query = `select audio_key from feedback_segments where audio_key in (select jsonb_array_elements_text(cast($1 as jsonb)))`
	}
	used, err := all(ctx, s.read(), func(r row) (key string, err error) { return key, r.Scan(&key) }, query, string(list))
	return used, wrap("look up audio", err)
}
