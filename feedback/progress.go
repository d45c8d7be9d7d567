package feedback

import (
	"context"
	"slices"
	"sync"
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
	// Wait is an estimate of the time until the text is there, from the speed at which this
	// Service has transcribed recently. It is 0 if that is unknown: the Service has transcribed
	// nothing yet, 1000 recordings are ahead, or the last attempt has failed, so that the
	// next one is delayed.
	Wait time.Duration
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
	progress := map[uuid.UUID]Progress{}
	wait := time.Duration(0)
	for i, u := range unfinished {
		own := s.speed.estimate(u.Duration)
		wait += own
		if u.State == SegmentTranscribing {
			progress[u.ID] = Progress{Wait: own}
		} else {
			progress[u.ID] = Progress{Ahead: i, Wait: wait}
		}
	}
	for _, g := range segments {
		p, ok := progress[g.ID]
		switch {
		case !ok && len(unfinished) == maxAhead:
			p.Ahead = maxAhead
		case !ok:
			continue // finished since it was read
		}
		if g.State == SegmentQueued && g.Error != "" {
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

// speed measures how fast a Service transcribes. Recordings that are transcribed at once count
// together: the time is that in which at least one was. The zero value has measured nothing.
type speed struct {
	mu      sync.Mutex
	running int
	since   time.Time // of the last change of running

	// Sums in which each recording weighs 0.9 times as much as the next one.
	busy, audio, recordings float64 // seconds, seconds, count
}

const speedDecay = 0.9

// started and ended enclose a transcription.
func (s *speed) started(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(now, 1)
}

// ended takes the duration of the audio, or 0 if the transcription has failed or it is unknown.
func (s *speed) ended(now time.Time, audio time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if audio > 0 {
		s.busy, s.audio, s.recordings = s.busy*speedDecay, s.audio*speedDecay, s.recordings*speedDecay
		s.audio += audio.Seconds()
		s.recordings++
	}
	s.change(now, -1)
}

func (s *speed) change(now time.Time, by int) {
	if s.running > 0 {
		s.busy += max(now.Sub(s.since), 0).Seconds()
	}
	s.since, s.running = now, s.running+by
}

// estimate returns how long a recording will take, on average if its duration is unknown (0); 0 if
// nothing has been measured.
func (s *speed) estimate(audio time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recordings == 0 {
		return 0
	}
	seconds := s.busy / s.recordings
	if audio > 0 {
		seconds = audio.Seconds() * s.busy / s.audio
	}
	return time.Duration(seconds * float64(time.Second))
}
