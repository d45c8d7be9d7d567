// Package fleet plays many teachers' phones that upload recordings to a feedback service, over
// connections that break, and compares in the end what the service has with what it acknowledged.
package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/examples/internal/program"
	"lessonkit.example/feedback/feedbackclient"
)

// Config configures [Start].
type Config struct {
	// URLs are the addresses of the service's processes, to which a phone's requests go in turn.
	// They accept the development sign-in.
	URLs []string

	// HTTP sends the requests; nil stands for a client with one connection for each phone.
	HTTP *http.Client

	// Phones is the number of phones, each of another teacher.
	Phones int

	// Pace is the mean pause of a phone between two recordings.
	Pace time.Duration

	// Attempt limits one attempt of an upload, and a reading; 0 stands for 15 seconds.
	Attempt time.Duration

	// Patience is how long a phone repeats an upload that is not acknowledged.
	Patience time.Duration
}

// Fleet is a number of phones at work. [Fleet.Stop] ends it, then [Fleet.Audit] is called once.
type Fleet struct {
	config Config
	http   *http.Client
	phones []*phone

	stop, cancel         context.CancelFunc // between two uploads, and at once
	uploading, following sync.WaitGroup

	mu       sync.Mutex
	failures map[string]int // attempts of uploads, by reason
	last     time.Time      // of an acknowledgement
	gap      time.Duration  // the longest between two, since Gap was called
}

// Start signs the phones in and begins a lesson on each. Then they upload until [Fleet.Stop] or the
// end of ctx. Until the end of the audit, they receive events.
func Start(ctx context.Context, c Config) (*Fleet, error) {
	c.Attempt = cmp.Or(c.Attempt, 15*time.Second)
	f := &Fleet{config: c, http: c.HTTP, failures: map[string]int{}, last: time.Now()}
	if f.http == nil {
		f.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * c.Phones}}
	}
	group, starting := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range c.Phones {
		p := &phone{fleet: f, name: fmt.Sprintf("phone-%d", i), told: map[string]string{}}
		f.phones = append(f.phones, p)
		group.Go(func() error { return p.startLesson(starting) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	uploading, stop := context.WithCancel(ctx)
	f.stop, f.cancel = stop, cancel
	for _, p := range f.phones {
		f.uploading.Go(func() { p.run(uploading, working) })
		f.following.Go(func() { p.follow(working) })
	}
	return f, nil
}

// Stop returns when each phone has finished its current upload. It may be called again.
func (f *Fleet) Stop() {
	f.stop()
	f.uploading.Wait()
}

// Close ends everything at once. It may be called again.
func (f *Fleet) Close() {
	f.cancel()
	f.Stop()
	f.following.Wait()
	f.http.CloseIdleConnections()
}

// Failures returns how many attempts of uploads have failed so far, by reason.
func (f *Fleet) Failures() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.failures)
}

// Gap returns the longest time without an acknowledgement since it was last called.
func (f *Fleet) Gap() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	gap := max(f.gap, time.Since(f.last))
	f.gap = 0
	return gap
}

func (f *Fleet) acknowledged() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gap = max(f.gap, time.Since(f.last))
	f.last = time.Now()
}

// phone uploads recordings to one lesson.
type phone struct {
	fleet           *Fleet
	name            string
	session, lesson string
	uploads         []*upload

	mu       sync.Mutex
	requests int               // so far
	told     map[string]string // segment → text, as an event told it
	problems []string          // what the service must not do
}

// base returns the address for the next request.
func (p *phone) base() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	return p.fleet.config.URLs[p.requests%len(p.fleet.config.URLs)]
}

func (p *phone) client() feedbackclient.Client {
	c := feedbackclient.Development(p.base(), p.name)
	c.HTTP = p.fleet.http
	return c
}

func (p *phone) startLesson(ctx context.Context) error {
	c := p.client()
	profile, err := c.EnsureProfile(ctx, "Ming")
	if err != nil {
		return err
	}
	session, err := c.OpenSession(ctx, profile.ID)
	if err != nil {
		return err
	}
	lesson, err := c.StartLesson(ctx, session.ID)
	p.session, p.lesson = session.ID, lesson.ID
	return err
}

// run uploads until the end of ctx, and finishes the last upload unless working ends, too.
func (p *phone) run(ctx, working context.Context) {
	for n := 0; program.Pause(ctx, rand.N(2*p.fleet.config.Pace)); n++ {
		u := &upload{sequence: n, audio: NewRecording(), segments: map[string]bool{}}
		u.hash = hashOf(u.audio)
		p.uploads = append(p.uploads, u)
		p.send(working, u)
		u.audio = nil
	}
}

// follow receives the texts of the session. A text that was told must not change.
func (p *phone) follow(ctx context.Context) {
	for event, err := range p.client().Follow(ctx, p.session, "0") {
		if err != nil {
			p.problem("its events ended: %v", err)
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
		p.problem("segment %s had the text %q and then %q", s.ID, first, s.Text)
	}
}

func (p *phone) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// hasText reports whether an event has told the text of a segment.
func (p *phone) hasText(segment string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, told := p.told[segment]
	return told
}
