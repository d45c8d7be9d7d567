package feedback

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// maxAhead is the greatest Progress.Ahead.
const maxAhead = 1000

// Progress is the place of an unfinished segment among the recordings of all teachers.
type Progress struct {
	// Ahead is how many recordings are being transcribed or come before this one in the order of
	// [Task.Turn]; 0 if this one is being transcribed. 1000 means that many or more.
	Ahead int
	// Wait is an estimate of the time until the text is there, from the speed of the last
	// transcriptions, in whichever process. It is 0 if that is unknown: nothing was transcribed
	// yet, 1000 recordings are ahead, transcription is paused, or the last attempt has failed, so
	// that the next one is delayed.
	Wait time.Duration
	// Paused is true while it waits because transcription is paused.
	Paused bool
}

// withProgress sets Progress of those segments that are unfinished. Without any, it reads nothing.
func (s *Service) withProgress(ctx context.Context, segments ...*Segment) error {
	segments = slices.DeleteFunc(segments, func(g *Segment) bool {
		return g.State != SegmentQueued && g.State != SegmentTranscribing
	})
	if len(segments) == 0 {
		return nil
	}
	unfinished, err := s.store.Unfinished(ctx, maxAhead)
	if err != nil {
		return err
	}
	recent, err := s.store.LastTranscriptions(ctx, speedSample)
	if err != nil {
		return err
	}
	speed := speedOf(recent)
	progress := map[uuid.UUID]Progress{}
	wait := time.Duration(0)
	for i, u := range unfinished {
		own := speed.estimate(u.Duration)
		wait += own
		if u.State == SegmentTranscribing {
			progress[u.ID] = Progress{Wait: own}
		} else {
			progress[u.ID] = Progress{Ahead: i, Wait: wait}
		}
	}
	paused := s.cfg.Paused != nil && s.cfg.Paused(ctx)
	for _, g := range segments {
		p, ok := progress[g.ID]
		switch {
		case !ok && len(unfinished) == maxAhead:
			p.Ahead = maxAhead
		case !ok:
			continue // finished since it was read
		}
		p.Paused = paused && g.State == SegmentQueued
		if p.Paused || g.State == SegmentQueued && g.Error != "" {
			p.Wait = 0
		}
		g.Progress = &p
	}
	return nil
}

func (s *Service) sessionWithProgress(ctx context.Context, f Session, err error) (Session, error) {
	if err != nil {
		return f, err
	}
	var segments []*Segment
	for _, l := range f.Lessons {
		segments = append(segments, pointers(l.Segments)...)
	}
	return f, s.withProgress(ctx, segments...)
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

// speedSample is how many of the last transcriptions tell the speed.
const speedSample = 20

// speed is how fast recordings were transcribed recently, by all processes together. The zero value
// is an unknown speed.
type speed struct {
	busy, audio time.Duration // in which at least one was transcribed; their duration
	recordings  int
}

// speedOf returns the speed of transcriptions, of which the last one comes first. Those that went
// on at once count together.
func speedOf(transcriptions []TranscriptionTime) (s speed) {
	var from time.Time // all since then, up to the end of any further transcription, is counted
	for i, t := range transcriptions {
		begin, end := t.Ended.Add(-t.Took), t.Ended
		if i > 0 && from.Before(end) {
			end = from
		}
		s.busy += max(end.Sub(begin), 0)
		if i == 0 || begin.Before(from) {
			from = begin
		}
		s.audio += t.Audio
		s.recordings++
	}
	return s
}

// estimate returns how long a recording will take, on average if its duration is unknown (0); 0 if
// the speed is unknown.
func (s speed) estimate(audio time.Duration) time.Duration {
	switch {
	case s.recordings == 0:
		return 0
	case audio == 0:
		return s.busy / time.Duration(s.recordings)
	}
	return time.Duration(audio.Seconds() * float64(s.busy) / s.audio.Seconds())
}
