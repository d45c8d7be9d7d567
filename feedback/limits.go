package feedback

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Limits bound what one teacher may use in a day, so that nobody takes the storage, the transcriber
// or the summary service from the others. A day begins at 00:00 UTC. A field of 0 has its default;
// a negative field sets no limit. What is deleted still counts.
type Limits struct {
	Bytes     int64 // of recordings; defaults to 8 GiB
	Segments  int   // also those that are transcribed again; defaults to 5000
	Sessions  int   // newly created; defaults to 500
	Summaries int   // by [Service.Generate] and [Service.Report]; defaults to 200
	TextBytes int64 // of what the teacher writes, also of generated texts; defaults to 16 MiB
	TextRows  int   // profiles, lessons, and records each time they are saved; defaults to 5000
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes:     cmp.Or(l.Bytes, 8<<30),
		Segments:  cmp.Or(l.Segments, 5000),
		Sessions:  cmp.Or(l.Sessions, 500),
		Summaries: cmp.Or(l.Summaries, 200),
		TextBytes: cmp.Or(l.TextBytes, 16<<20),
		TextRows:  cmp.Or(l.TextRows, 5000),
	}
}

// Usage is what one teacher has used on one day.
type Usage struct {
	Bytes                         int64
	Segments, Sessions, Summaries int
	TextBytes                     int64 // of a text that is replaced by a longer one, what is longer
	TextRows                      int
}

// usage returns what the teacher has used today. It fails with [ErrStorageFull] if the store has no
// space.
func (s *Service) usage(ctx context.Context, teacher uuid.UUID, now time.Time) (Usage, error) {
	if err := checkSpace(ctx, s.store); err != nil {
		return Usage{}, err
	}
	return s.store.Usage(ctx, teacher, now)
}

// checkText fails if the teacher may store no more text today, or there is no space.
func (s *Service) checkText(ctx context.Context, teacher uuid.UUID) error {
	now := s.now()
	used, err := s.usage(ctx, teacher, now)
	if err != nil {
		return err
	}
	l := s.cfg.Limits
	if l.TextRows >= 0 && used.TextRows >= l.TextRows {
		return limitReached(now, "%d profiles, lessons and saved records", l.TextRows)
	}
	if l.TextBytes >= 0 && used.TextBytes >= l.TextBytes {
		return limitReached(now, "%d bytes of text", l.TextBytes)
	}
	return nil
}

// checkSpace fails with [ErrStorageFull] if a store has no space. See [Store] and [AudioStore].
func checkSpace(ctx context.Context, store any) error {
	if limited, ok := store.(interface{ CheckSpace(context.Context) error }); ok {
		return limited.CheckSpace(ctx)
	}
	return nil
}

// checkUsage fails if the teacher has no bytes or fewer segments left today, or there is no space.
// Uploads that are in progress are not counted.
func (s *Service) checkUsage(ctx context.Context, teacher uuid.UUID, segments int) error {
	now := s.now()
	used, err := s.usage(ctx, teacher, now)
	if err != nil {
		return err
	}
	l := s.cfg.Limits
	if l.Segments >= 0 && used.Segments+segments > l.Segments {
		return limitReached(now, "%d segments", l.Segments)
	}
	if l.Bytes >= 0 && used.Bytes >= l.Bytes {
		return limitReached(now, "%.7g MB of recordings", float64(l.Bytes)/(1<<20))
	}
	return nil
}

// limitReached returns the error of a limit that lasts until the end of the day.
func limitReached(now time.Time, format string, limit any) error {
	tomorrow := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	return &Error{Kind: ErrLimit, After: tomorrow.Sub(now),
		Message: "today's limit of " + fmt.Sprintf(format, limit) + " is reached; the next day begins at 00:00 UTC"}
}
