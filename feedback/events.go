package feedback

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Event tells of a lesson or a segment whose state changed. Exactly one of
// Lesson and Segment is set.
type Event struct {
	// Revision is the session's after the change. Revisions of a session grow;
	// a client that was cut off goes on from the last one it saw.
	Revision int64
	Lesson   *Lesson // without its segments
	Segment  *Segment
}

func lessonEvent(l Lesson) Event {
	l.Segments = nil
	return Event{Revision: l.Revision, Lesson: &l}
}

func segmentEvent(s Segment) Event { return Event{Revision: s.Revision, Segment: &s} }

func (e Event) id() uuid.UUID {
	if e.Lesson != nil {
		return e.Lesson.ID
	}
	return e.Segment.ID
}

// Events follows a session until ctx ends: what changed after the revision
// since (negative: after now), and then every change as it happens. Changes
// made through this Service come at once and one by one; changes made by
// another process are found by asking the store every [Config.PollInterval],
// where the last state counts. The sequence ends after its first error;
// [ErrNotFound] comes first where the session is not the teacher's.
func (s *Service) Events(ctx context.Context, teacher, session uuid.UUID, since int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		// Subscribe first: what happens between subscribing and asking comes twice and is told once.
		sub := s.events.subscribe(session)
		defer s.events.unsubscribe(session, sub)
		f := follower{service: s, teacher: teacher, session: session, told: sub, polled: since, seen: map[uuid.UUID]int64{}, yield: yield}
		if !f.poll(ctx) {
			return
		}
		tick := time.NewTicker(s.cfg.PollInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-sub:
				if !f.tell(e) {
					return
				}
			case <-tick.C:
				if !f.poll(ctx) {
					return
				}
			}
		}
	}
}

// follower tells each change once, whichever way it is learnt.
type follower struct {
	service          *Service
	teacher, session uuid.UUID
	told             <-chan Event        // by this process
	polled           int64               // revision up to which the store was asked
	seen             map[uuid.UUID]int64 // newest revision told of each lesson and segment
	yield            func(Event, error) bool
}

func (f *follower) tell(e Event) bool {
	if e.Revision <= f.seen[e.id()] {
		return true
	}
	f.seen[e.id()] = e.Revision
	return f.yield(e, nil)
}

func (f *follower) poll(ctx context.Context) bool {
	since := f.polled
	if since < 0 {
		since = 1<<63 - 1 // only the session's revision is wanted
	}
	events, revision, err := f.service.store.Changes(ctx, f.teacher, f.session, since)
	if err != nil {
		if ctx.Err() == nil {
			f.yield(Event{}, err)
		}
		return false
	}
	f.polled = revision
	if !f.drain() {
		return false
	}
	for _, e := range events {
		if !f.tell(e) {
			return false
		}
	}
	return true
}

// drain tells what this process has told already, before an answer of the
// store that knows only the last state of each.
func (f *follower) drain() bool {
	for {
		select {
		case e := <-f.told:
			if !f.tell(e) {
				return false
			}
		default:
			return true
		}
	}
}

// broker hands events to the followers of a session within this process. The
// zero value is ready.
type broker struct {
	mu   sync.Mutex
	subs map[uuid.UUID]map[chan Event]struct{}
}

const subscriberBuffer = 64

func (b *broker) subscribe(session uuid.UUID) chan Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[uuid.UUID]map[chan Event]struct{}{}
	}
	if b.subs[session] == nil {
		b.subs[session] = map[chan Event]struct{}{}
	}
	ch := make(chan Event, subscriberBuffer)
	b.subs[session][ch] = struct{}{}
	return ch
}

func (b *broker) unsubscribe(session uuid.UUID, ch chan Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs[session], ch)
	if len(b.subs[session]) == 0 {
		delete(b.subs, session)
	}
}

// publish never waits: a follower too slow for its buffer learns the rest by
// asking the store.
func (b *broker) publish(session uuid.UUID, e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.subs[session] {
		select {
		case ch <- e:
		default:
		}
	}
}
