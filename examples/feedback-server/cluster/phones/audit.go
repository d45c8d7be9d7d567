package phones

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/feedback/feedbackclient"
)

// Tally counts recordings.
type Tally struct {
	Acknowledged int // the service confirmed to have them
	Repeated     int // of Acknowledged: those that took more than one attempt

	// Lost are acknowledged recordings that the service has no longer, has with other bytes, has no
	// text of, or sent no event about.
	Lost int
	// Doubled are recordings that the service has twice, and those with more than one text.
	Doubled int
	// Refused are recordings that were not acknowledged while the phone's patience lasted. Kept are
	// those of them that the service has nevertheless, because only the answer was lost.
	Refused, Kept int

	// Failures counts the failed attempts by their reasons.
	Failures map[string]int

	// The times from the first attempt to the acknowledgement.
	Median, P99, Longest time.Duration
	// Texts is how long the last text took after the last upload.
	Texts time.Duration

	// Problems describes what was lost, doubled or refused.
	Problems []string
}

// Audit waits until the recordings are transcribed, until ctx ends at the latest, and compares what
// the service has with what it acknowledged.
func (f *Fleet) Audit(ctx context.Context) (Tally, error) {
	defer f.http.CloseIdleConnections()
	defer f.following.Wait()
	defer f.stopFollowing()
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
			return p.audit(ctx, lesson, &tallies[i])
		})
	}
	err := group.Wait()
	sum := Tally{Failures: map[string]int{}}
	var times []time.Duration
	for i, t := range tallies {
		sum.Acknowledged += t.Acknowledged
		sum.Repeated += t.Repeated
		sum.Lost += t.Lost
		sum.Doubled += t.Doubled
		sum.Refused += t.Refused
		sum.Kept += t.Kept
		sum.Texts = max(sum.Texts, t.Texts)
		sum.Problems = append(sum.Problems, t.Problems...)
		for _, u := range f.phones[i].uploads {
			for _, err := range u.failures {
				sum.Failures[reason(err)]++
			}
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
	var problem *feedbackclient.Problem
	switch {
	case errors.As(err, &problem):
		return strings.TrimSpace(fmt.Sprint(problem.Status, " ", problem.Code))
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	}
	return "connection lost"
}

// transcribed reads the phone's lesson when each segment has its text, and the phone was told, or
// when ctx ends.
func (p *phone) transcribed(ctx context.Context) (feedbackclient.Lesson, error) {
	for {
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
		session, err := p.client.Session(reading, p.session)
		cancel()
		if err != nil {
			if pause(ctx, time.Second) {
				continue // the cluster may be catching up
			}
			return feedbackclient.Lesson{}, err
		}
		i := slices.IndexFunc(session.Lessons, func(l feedbackclient.Lesson) bool { return l.ID == p.lesson })
		if i < 0 {
			return feedbackclient.Lesson{}, errors.New("the session has lost its lesson")
		}
		lesson := session.Lessons[i]
		if lesson.Truncated {
			return lesson, errors.New("the lesson is too long to be read with its session")
		}
		waiting := slices.ContainsFunc(lesson.Segments, func(s feedbackclient.Segment) bool {
			// The event can arrive while an older state is being read.
			return s.State != "failed" && (s.State != "transcribed" || !p.hasText(s.ID))
		})
		if !waiting || !pause(ctx, 300*time.Millisecond) {
			return lesson, nil
		}
	}
}

// audit compares a lesson with the phone's uploads.
func (p *phone) audit(ctx context.Context, lesson feedbackclient.Lesson, t *Tally) error {
	problem := func(counter *int, format string, args ...any) {
		*counter++
		t.Problems = append(t.Problems, p.name+": "+fmt.Sprintf(format, args...))
	}
	there := map[int]feedbackclient.Segment{}
	var texts []string
	for _, s := range lesson.Segments {
		if _, twice := there[s.Sequence]; twice || s.Sequence >= len(p.uploads) {
			problem(&t.Doubled, "segment %s of part %d is one too many", s.ID, s.Sequence)
			continue
		}
		there[s.Sequence] = s
		texts = append(texts, s.Text)
		if s.State == "transcribed" && !p.hasText(s.ID) {
			problem(&t.Lost, "no event told the text of part %d", s.Sequence)
		}
		p.see(s)
	}
	if !slices.Equal(strings.Fields(strings.Join(texts, " ")), strings.Fields(lesson.Transcript)) {
		problem(&t.Doubled, "the transcript is not the texts in order, each once: %q", lesson.Transcript)
	}
	p.mu.Lock()
	changed := slices.Clone(p.changed) // events may still add to it
	p.mu.Unlock()
	for _, text := range changed {
		t.Doubled++
		t.Problems = append(t.Problems, p.name+": "+text)
	}
	for _, u := range p.uploads {
		s, kept := there[u.sequence]
		if len(u.segments) == 0 {
			problem(&t.Refused, "part %d was refused in %d attempts: %v", u.sequence, len(u.failures),
				u.failures[len(u.failures)-1])
			if kept {
				t.Kept++
			}
			continue
		}
		t.Acknowledged++
		if len(u.failures) > 0 {
			t.Repeated++
		}
		switch {
		case len(u.segments) > 1:
			problem(&t.Doubled, "part %d was acknowledged as %d segments", u.sequence, len(u.segments))
		case !kept || !u.segments[s.ID]:
			problem(&t.Lost, "part %d was acknowledged and is gone", u.sequence)
		case s.State != "transcribed":
			problem(&t.Lost, "part %d is %s: %s", u.sequence, s.State, s.Error)
		case !isTextOf(s.Text, u.hash):
			problem(&t.Lost, "part %d has the text %q", u.sequence, s.Text)
		default:
			hash, err := p.download(ctx, s.ID)
			if err != nil {
				problem(&t.Lost, "the audio of part %d: %v", u.sequence, err)
			} else if hash != u.hash {
				problem(&t.Lost, "the audio of part %d is not what was sent", u.sequence)
			}
		}
	}
	return nil
}

// download returns the hash of a segment's audio.
func (p *phone) download(ctx context.Context, segment string) (string, error) {
	audio, err := p.client.Audio(ctx, segment, 0)
	if err != nil {
		return "", err
	}
	defer audio.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, audio); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
