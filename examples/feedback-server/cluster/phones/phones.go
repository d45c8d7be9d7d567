// Package phones plays many teachers' phones that upload recordings to a feedback service, and
// compares in the end what the service has with what it acknowledged.
package phones

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/feedback/feedbackclient"
)

// Config configures [SignIn]. All fields are required.
type Config struct {
	URL        string        // of the service, which accepts the development sign-in
	Phones     int           // number of phones, each of another teacher
	Recordings [][]byte      // MP3 files, of which each phone sends one after the other
	Pace       time.Duration // mean pause of a phone between two recordings

	// Patience is how long a phone repeats an upload that is not acknowledged.
	Patience time.Duration
}

// Fleet is a number of phones. Its methods are called one after the other: [Fleet.Run], then
// [Fleet.Audit].
type Fleet struct {
	config Config
	http   *http.Client
	phones []*phone

	following     sync.WaitGroup // the streams of events
	stopFollowing context.CancelFunc
}

// attemptTimeout limits one attempt of an upload.
const attemptTimeout = 10 * time.Second

// SignIn signs the phones in and begins a lesson on each.
func SignIn(ctx context.Context, c Config) (*Fleet, error) {
	f := &Fleet{config: c, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: c.Phones}}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range c.Phones {
		p := &phone{fleet: f, name: fmt.Sprintf("phone-%d", i), told: map[string]string{}}
		p.client = feedbackclient.Development(c.URL, p.name)
		p.client.HTTP = f.http
		f.phones = append(f.phones, p)
		group.Go(func() error {
			profile, err := p.client.EnsureProfile(ctx, "Ming")
			if err != nil {
				return err
			}
			session, err := p.client.OpenSession(ctx, profile.ID)
			if err != nil {
				return err
			}
			lesson, err := p.client.StartLesson(ctx, session.ID)
			p.session, p.lesson = session.ID, lesson.ID
			return err
		})
	}
	return f, group.Wait()
}

// Run uploads until ctx ends, then until each phone has finished its current upload. Meanwhile, and
// until the end of the audit, the phones receive events.
func (f *Fleet) Run(ctx context.Context) {
	var following context.Context
	following, f.stopFollowing = context.WithCancel(context.WithoutCancel(ctx))
	var uploading sync.WaitGroup
	for _, p := range f.phones {
		f.following.Go(func() { p.follow(following) })
		uploading.Go(func() { p.run(ctx) })
	}
	uploading.Wait()
}

// phone uploads recordings to one lesson.
type phone struct {
	fleet           *Fleet
	name            string
	client          feedbackclient.Client
	session, lesson string

	uploads []*upload

	mu      sync.Mutex
	told    map[string]string // segment → text, as an event told it
	changed []string          // descriptions of texts that changed afterwards, and of refused events
}

// upload is a recording as the phone knows it.
type upload struct {
	sequence int
	hash     string
	took     time.Duration   // to the first acknowledgement
	segments map[string]bool // in the acknowledgements
	failures []error         // of the attempts
}

func (p *phone) run(ctx context.Context) {
	recordings := p.fleet.config.Recordings
	for n := 0; pause(ctx, rand.N(2*p.fleet.config.Pace)); n++ {
		audio := tagged(recordings[n%len(recordings)], fmt.Sprintf("%s, part %d", p.name, n))
		u := &upload{sequence: n, hash: hashOf(audio), segments: map[string]bool{}}
		p.uploads = append(p.uploads, u)
		p.deliver(context.WithoutCancel(ctx), u, audio)
		if len(u.segments) > 0 && rand.IntN(20) == 0 { // as if the phone had been restarted meanwhile
			p.deliver(context.WithoutCancel(ctx), u, audio)
		}
	}
}

// deliver repeats an upload until it is acknowledged, refused for good, or the phone's patience
// ends.
func (p *phone) deliver(ctx context.Context, u *upload, audio []byte) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.fleet.config.Patience)
	defer cancel()
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		segment, err := p.client.Upload(attempt, p.lesson, u.sequence, "part.mp3", audio)
		cancel()
		if err == nil {
			if len(u.segments) == 0 {
				u.took = time.Since(began)
			}
			u.segments[segment.ID] = true
			return
		}
		u.failures = append(u.failures, err)
		wait := 500*time.Millisecond + rand.N(time.Second)
		var problem *feedbackclient.Problem
		if errors.As(err, &problem) {
			if problem.Permanent() {
				return
			}
			wait = max(wait, problem.RetryAfter())
		}
		if !pause(ctx, wait) {
			return
		}
	}
}

// follow receives the texts of the session. A text that was told must not change.
func (p *phone) follow(ctx context.Context) {
	for event, err := range p.client.Follow(ctx, p.session, "0") {
		if err != nil {
			p.note(fmt.Sprintf("its events ended: %v", err))
			return
		}
		if event.Segment != nil {
			p.see(*event.Segment)
		}
	}
}

func (p *phone) see(s feedbackclient.Segment) {
	if s.State != "transcribed" {
		return
	}
	p.mu.Lock()
	first, seen := p.told[s.ID]
	p.told[s.ID] = s.Text
	p.mu.Unlock()
	if seen && first != s.Text {
		p.note(fmt.Sprintf("segment %s had the text %q and then %q", s.ID, first, s.Text))
	}
}

func (p *phone) note(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = append(p.changed, problem)
}

// hasText reports whether an event has told the text of a segment.
func (p *phone) hasText(segment string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, told := p.told[segment]
	return told
}

// pause reports false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
