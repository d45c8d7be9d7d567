package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/examples/internal/program"
	"lessonkit.example/feedback/feedbackclient"
)

// Tally counts recordings.
type Tally struct {
	Acknowledged int // the service confirmed to have them
	Repeated     int // of Acknowledged: those that took more than one attempt

	// Lost are recordings that were acknowledged and that the service has no longer, and those that
	// it has with other bytes, not whole, without a text, or without an event about it.
	Lost int
	// Doubled are recordings that the service has twice, and those with more than one text.
	Doubled int
	// Refused are recordings that were not acknowledged while the phone's patience lasted. Kept are
	// recordings that the service has without having acknowledged them.
	Refused, Kept int

	// Attempts is the largest number of attempts at the text of a recording.
	Attempts int
	// Failures counts the failed attempts of uploads by their reasons.
	Failures map[string]int

	// The times from the first attempt to the acknowledgement.
	Median, P99, Longest time.Duration
	// Texts is how long the last text took after the last upload.
	Texts time.Duration

	// Problems describes what was lost, doubled or refused.
	Problems []string
}

// Audit stops the phones, waits until the recordings are transcribed, until ctx ends at the latest,
// and compares what the service has with what it acknowledged.
func (f *Fleet) Audit(ctx context.Context) (Tally, error) {
	f.Stop()
	defer f.Close()
	began := time.Now()
	tallies := make([]Tally, len(f.phones))
	var group errgroup.Group
	group.SetLimit(8)
	for i, p := range f.phones {
		group.Go(func() error {
			lesson, err := p.transcribed(ctx)
			if err != nil {
				return fmt.Errorf("read the lesson of %s: %w", p.name, err)
			}
			tallies[i].Texts = time.Since(began)
			p.audit(ctx, lesson, &tallies[i])
			return nil
		})
	}
	err := group.Wait()
	sum := Tally{Failures: f.Failures()}
	var times []time.Duration
	for i, t := range tallies {
		sum.Acknowledged += t.Acknowledged
		sum.Repeated += t.Repeated
		sum.Lost += t.Lost
		sum.Doubled += t.Doubled
		sum.Refused += t.Refused
		sum.Kept += t.Kept
		sum.Attempts = max(sum.Attempts, t.Attempts)
		sum.Texts = max(sum.Texts, t.Texts)
		sum.Problems = append(sum.Problems, t.Problems...)
		for _, u := range f.phones[i].uploads {
			if len(u.segments) > 0 {
				times = append(times, u.took)
			}
		}
	}
	if slices.Sort(times); len(times) > 0 {
		last := len(times) - 1
		sum.Median, sum.P99, sum.Longest = times[last/2], times[last*99/100], times[last]
	}
	return sum, err
}

// reason describes an error in few words, to be counted.
func reason(err error) string {
	if problem, ok := errors.AsType[*feedbackclient.Problem](err); ok {
		return strings.TrimSpace(fmt.Sprint(problem.Status, " ", problem.Code))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer"
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return "connection lost: " + err.Error()
}

// transcribed reads the phone's lesson when each segment has its text, and the phone was told, or
// when ctx ends.
func (p *phone) transcribed(ctx context.Context) (feedbackclient.Lesson, error) {
	for {
		lesson, err := p.readLesson(context.WithoutCancel(ctx))
		if err != nil {
			if program.Pause(ctx, time.Second) {
				continue // the service may be catching up
			}
			return lesson, err
		}
		waiting := slices.ContainsFunc(lesson.Segments, func(s feedbackclient.Segment) bool {
			// The event can arrive while an older state is being read.
			return s.State != "failed" && (s.State != "transcribed" || !p.hasText(s.ID))
		})
		if !waiting || !program.Pause(ctx, 300*time.Millisecond) {
			return lesson, nil
		}
	}
}

func (p *phone) readLesson(ctx context.Context) (lesson feedbackclient.Lesson, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.fleet.config.Attempt)
	defer cancel()
	c := p.client()
	session, err := c.Session(ctx, p.session)
	if err != nil {
		return lesson, err
	}
	i := slices.IndexFunc(session.Lessons, func(l feedbackclient.Lesson) bool { return l.ID == p.lesson })
	if i < 0 {
		return lesson, errors.New("the session has lost its lesson")
	}
	if lesson = session.Lessons[i]; !lesson.Truncated {
		return lesson, nil
	}
	// It has too many segments to be read with its session.
	var texts []string
	for s, err := range c.Segments(ctx, lesson.ID) {
		if err != nil {
			return lesson, err
		}
		texts, lesson.Segments = append(texts, s.Text), append(lesson.Segments, s)
	}
	lesson.Transcript = strings.Join(texts, "\n")
	return lesson, nil
}

// audit compares a lesson with the phone's uploads.
func (p *phone) audit(ctx context.Context, lesson feedbackclient.Lesson, t *Tally) {
	problem := func(counter *int, format string, args ...any) {
		*counter++
		t.Problems = append(t.Problems, p.name+": "+fmt.Sprintf(format, args...))
	}
	stored := map[int]feedbackclient.Segment{}
	var texts []string
	for _, s := range lesson.Segments {
		if _, twice := stored[s.Sequence]; twice || s.Sequence >= len(p.uploads) {
			problem(&t.Doubled, "segment %s of part %d is stored in addition to the uploads", s.ID, s.Sequence)
			continue
		}
		stored[s.Sequence] = s
		texts = append(texts, s.Text)
		t.Attempts = max(t.Attempts, s.Attempts)
		if s.State == "transcribed" && !p.hasText(s.ID) {
			problem(&t.Lost, "no event told the text of part %d", s.Sequence)
		}
		p.see(s)
	}
	if !slices.Equal(strings.Fields(strings.Join(texts, " ")), strings.Fields(lesson.Transcript)) {
		problem(&t.Doubled, "the transcript is not the texts in order, each once: %q", lesson.Transcript)
	}
	p.mu.Lock()
	problems := slices.Clone(p.problems) // events may still add to it
	p.mu.Unlock()
	for _, text := range problems {
		problem(&t.Doubled, "%s", text)
	}
	for _, u := range p.uploads {
		s, kept := stored[u.sequence]
		switch {
		case len(u.segments) > 0:
			t.Acknowledged++
			if len(u.failures) > 0 {
				t.Repeated++
			}
			if len(u.segments) > 1 {
				problem(&t.Doubled, "part %d was acknowledged as %d segments", u.sequence, len(u.segments))
				continue
			}
			if !kept || !u.segments[s.ID] {
				problem(&t.Lost, "part %d was acknowledged and is gone", u.sequence)
				continue
			}
		case u.delivered:
			problem(&t.Refused, "part %d was refused in %d attempts: %v", u.sequence, len(u.failures),
				u.failures[len(u.failures)-1])
		case kept && !u.whole:
			problem(&t.Lost, "part %d is stored and was never sent whole", u.sequence)
			continue
		}
		if kept {
			if len(u.segments) == 0 {
				t.Kept++
			}
			if fault := p.compare(ctx, u, s); fault != "" {
				problem(&t.Lost, "part %d %s", u.sequence, fault)
			}
		}
	}
}

// compare returns what is wrong with a stored recording.
func (p *phone) compare(ctx context.Context, u *upload, s feedbackclient.Segment) (fault string) {
	switch {
	case s.State != "transcribed":
		return fmt.Sprintf("is %s: %s", s.State, s.Error)
	case !IsTextOf(s.Text, u.hash):
		return fmt.Sprintf("has the text %q", s.Text)
	}
	for _, base := range p.fleet.config.URLs {
		for _, connection := range []struct {
			name string
			http *http.Client
		}{{"a kept", p.fleet.http}, {"a new", &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}} {
			if err := p.readAudio(ctx, connection.http, base, s.ID, u.hash); err != nil {
				return fmt.Sprintf("cannot be read on %s connection to %s: %v", connection.name, base, err)
			}
		}
	}
	return ""
}

// readAudio requests a recording once, without repeating what fails, and compares its hash.
func (p *phone) readAudio(ctx context.Context, client *http.Client, base, segment, want string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/audio-segments/"+segment+"/audio", nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-Development-User", p.name)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	hash := sha256.New()
	if n, err := io.Copy(hash, resp.Body); err != nil {
		return fmt.Errorf("after %d bytes: %w", n, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); resp.StatusCode != http.StatusOK || got != want {
		return fmt.Errorf("status %d with other audio than was sent", resp.StatusCode)
	}
	return nil
}
