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
	// Revision is the session's after the change.
	Revision int64
	// Resume is what a client that is cut off after this event goes on from:
	// the revision up to which all changes were told. It never decreases, and
	// stays below Revision while a change of another process may be missing.
	Resume  int64
	Lesson  *Lesson // without its segments
	Segment *Segment
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
		f := follower{service: s, teacher: teacher, session: session, told: sub, upTo: since, seen: map[uuid.UUID]int64{}, yield: yield}
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
				if !f.hear(e) {
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
	upTo             int64               // revision up to which all changes were told; negative: the first one asked for
	seen             map[uuid.UUID]int64 // newest revision told of each lesson and segment
	yield            func(Event, error) bool
}

// tell tells e, unless it was told. After it all changes up to a revision were.
func (f *follower) tell(e Event, upTo int64) bool {
	fresh := e.Revision > f.upTo && e.Revision > f.seen[e.id()]
	f.upTo = max(f.upTo, upTo)
	if !fresh {
		return true
	}
	f.seen[e.id()] = e.Revision
	e.Resume = f.upTo
	return f.yield(e, nil)
}

// hear tells a change made by this process. Those of others may lie before it,
// unless it is the very next one.
func (f *follower) hear(e Event) bool {
	upTo := f.upTo
	if e.Revision == upTo+1 {
		upTo = e.Revision
	}
	return f.tell(e, upTo)
}

func (f *follower) poll(ctx context.Context) bool {
	since := f.upTo
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
	if f.upTo < 0 || f.upTo > revision { // now, or a revision of a database that was set back
		f.upTo = revision
	}
	if !f.drain() {
		return false
	}
	for _, e := range events {
		if !f.tell(e, min(e.Revision, revision)) { // what came after revision was read may not be all
			return false
		}
	}
	f.upTo = max(f.upTo, revision)
	return true
}

// drain tells what this process has told already, before an answer of the
// store that knows only the last state of each.
func (f *follower) drain() bool {
	for {
		select {
		case e := <-f.told:
			if !f.hear(e) {
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
