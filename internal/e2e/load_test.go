//go:build linux

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// load is many phones at work, and what they observed.
type load struct {
	bases   []string
	http    *http.Client
	pace    time.Duration // mean pause of a phone between two segments
	timeout time.Duration // of one request
	phones  []*phone

	acknowledged, refused, cut, watched, unread atomic.Int64

	mu         sync.Mutex
	violations []string
	problems   map[string]int
	durations  []time.Duration
	texts      map[string]string // segment → text, as first seen
	lastError  error             // of a refused attempt

	cancel   context.CancelFunc
	stopOnce sync.Once
	stopped  chan struct{}
	phonesWG sync.WaitGroup
	watchWG  sync.WaitGroup
}

// startLoad starts phones, each with its own lesson, against servers that share their data.
func startLoad(t *testing.T, phones int, pace time.Duration, services ...*service) *load {
	t.Helper()
	l := &load{
		pace: pace, timeout: 15 * time.Second, stopped: make(chan struct{}),
		problems: map[string]int{}, texts: map[string]string{},
	}
	for _, s := range services {
		l.bases = append(l.bases, s.client.Base)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: phones,
		DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext}
	if l.http = services[0].client.HTTP; l.http == nil {
		l.http = &http.Client{Transport: transport}
	}
	for i := range phones {
		p := &phone{load: l, user: fmt.Sprintf("phone-%d", i)}
		c := p.client()
		eventually(t, "the phone has a lesson", func() bool {
			err := p.startLesson(t.Context(), c)
			require.True(t, err == nil || mayRetry(err), "%v", err)
			return err == nil
		})
		l.phones = append(l.phones, p)
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	for _, p := range l.phones {
		l.phonesWG.Go(func() { p.run(ctx, l.stopped) })
	}
	l.watchWG.Go(func() { l.watch(ctx) })
	t.Cleanup(func() {
		l.cancel()
		l.stop()
		l.watchWG.Wait()
		transport.CloseIdleConnections()
	})
	return l
}

// startLesson makes a profile, a session and a lesson, unless they exist.
func (p *phone) startLesson(ctx context.Context, c feedbackclient.Client) error {
	profile, err := c.EnsureProfile(ctx, "Someone small")
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

// stop lets every phone finish its current upload, within waitLimit.
func (l *load) stop() {
	l.stopOnce.Do(func() {
		close(l.stopped)
		giveUp := time.AfterFunc(waitLimit, func() {
			l.violation("phones did not finish within %v of the last fault", waitLimit)
			l.cancel()
		})
		defer giveUp.Stop()
		l.phonesWG.Wait()
	})
}

// watch reads sessions as phones do: a text that was seen once must stay.
func (l *load) watch(ctx context.Context) {
	for {
		select {
		case <-l.stopped:
			return
		case <-ctx.Done():
			return
		case <-time.After(300 * time.Millisecond):
		}
		p := l.phones[rand.IntN(len(l.phones))]
		c := feedbackclient.Development(l.bases[rand.IntN(len(l.bases))], p.user)
		c.HTTP = l.http
		look, cancel := context.WithTimeout(ctx, l.timeout)
		session, err := c.Session(look, p.session)
		cancel()
		if err != nil {
			l.unread.Add(1)
			if !mayRetry(err) {
				l.violation("reading a session: %v", err)
			}
			continue
		}
		l.watched.Add(1)
		for _, seg := range session.Lessons[0].Segments {
			l.see(seg)
		}
	}
}

// see compares a segment with its earlier states.
func (l *load) see(seg feedbackclient.Segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, seen := l.texts[seg.ID]
	switch {
	case seg.State == "transcribed" && !seen:
		l.texts[seg.ID] = seg.Text
	case seen && (seg.State != "transcribed" || seg.Text != first):
		l.violations = append(l.violations, fmt.Sprintf("segment %s had the text %q and is now %s with %q", seg.ID,
			first, seg.State, seg.Text))
	}
}

func (l *load) violation(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violations = append(l.violations, fmt.Sprintf(format, args...))
}

// answered counts an error answer.
func (l *load) answered(status int, code string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems[fmt.Sprint(status, " ", code)]++
}

// refuse counts an upload that was not acknowledged.
func (l *load) refuse(err error) {
	l.refused.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastError = err
}

// took records how long an acknowledged upload took.
func (l *load) took(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durations = append(l.durations, d)
}

// percentile returns a percentile of the durations so far.
func (l *load) percentile(p float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.durations) == 0 {
		return 0
	}
	slices.Sort(l.durations)
	return l.durations[int(p*float64(len(l.durations)-1))].Round(time.Millisecond)
}

// attempts returns the highest number of attempts of any segment.
func (l *load) attempts(t *testing.T) (most int) {
	t.Helper()
	for _, p := range l.phones {
		session, err := p.client().Session(t.Context(), p.session)
		require.NoError(t, err)
		for _, seg := range session.Lessons[0].Segments {
			most = max(most, seg.Attempts)
		}
	}
	return most
}
