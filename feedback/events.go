package feedback

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Event reports a lesson or a segment whose state has changed. Exactly one of Lesson and Segment is
// set.
type Event struct {
	Revision int64   // of the session; Events called with it continues after this event
	Lesson   *Lesson // without its segments
	Segment  *Segment
}

// Events follows a session until ctx ends. It yields what has changed since a revision in the order
// of revisions, and then later changes as they happen. A lesson or segment that has changed several
// times between two looks at the store is reported once, with its last state. Changes made through
// this Service are reported at once, those of other processes within [Config.PollInterval]. The
// sequence ends after its first error; it is [ErrNotFound] if the session does not exist or is
// deleted.
func (s *Service) Events(ctx context.Context, teacher, session uuid.UUID, since int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		changed, unsubscribe := s.broker.subscribe(session, s.watch)
		defer unsubscribe()
		for {
			events, revision, err := s.changes(ctx, teacher, session, since)
			if err != nil {
				if ctx.Err() == nil {
					yield(Event{}, err)
				}
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			since = revision // also where a restored database is behind since
			if len(events) > 0 {
				continue // there may be more
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}
}

// changes reads what has changed since a revision, with the progress of segments.
func (s *Service) changes(ctx context.Context, teacher, session uuid.UUID, since int64) ([]Event, int64, error) {
	events, revision, err := s.store.Changes(ctx, teacher, session, since)
	if err != nil {
		return nil, 0, err
	}
	var segments []*Segment
	for _, e := range events {
		if e.Segment != nil {
			segments = append(segments, e.Segment)
		}
	}
	return events, revision, s.withProgress(ctx, segments...)
}

// watch looks for changes of all sessions that are followed, in one query for many of them, until
// ctx ends.
func (s *Service) watch(ctx context.Context) {
	poll := time.NewTicker(s.cfg.PollInterval)
	defer poll.Stop()
	seen := map[uuid.UUID]int64{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		followed := s.broker.sessions()
		now := make(map[uuid.UUID]int64, len(followed))
		for sessions := range slices.Chunk(followed, 1000) {
			revisions, err := s.store.Revisions(ctx, sessions)
			for _, id := range sessions {
				revision, ok := revisions[id]
				if last, known := seen[id]; err != nil || !ok || !known || last != revision {
					s.broker.notify(id) // its follower meets the error itself
				}
				now[id] = revision
			}
		}
		seen = now
	}
}

// broker tells the subscribers of a session that something has changed. The zero value is ready to
// use.
type broker struct {
	mu          sync.Mutex
	subscribers map[uuid.UUID]map[chan struct{}]bool // by session
	stop        context.CancelFunc                   // ends watch; nil without subscribers
}

// subscribe calls watch in a goroutine of its own while there are subscribers.
func (b *broker) subscribe(
	session uuid.UUID, watch func(context.Context),
) (changed <-chan struct{}, unsubscribe func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.subscribers) == 0 {
		b.subscribers = map[uuid.UUID]map[chan struct{}]bool{}
		var ctx context.Context
		ctx, b.stop = context.WithCancel(context.Background())
		go watch(ctx)
	}
	if b.subscribers[session] == nil {
		b.subscribers[session] = map[chan struct{}]bool{}
	}
	ch := make(chan struct{}, 1)
	b.subscribers[session][ch] = true
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subscribers[session], ch)
		if len(b.subscribers[session]) == 0 {
			delete(b.subscribers, session)
		}
		if len(b.subscribers) == 0 {
			b.stop()
		}
	}
}

// sessions returns the sessions that have subscribers.
func (b *broker) sessions() []uuid.UUID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.subscribers))
}

// notify never blocks: a subscriber with a pending signal will see this change too.
func (b *broker) notify(session uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.subscribers[session] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
