package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lessonkit.example/feedback/feedbackclient"
)

// pupil is whom the spoken lessons are about.
const pupil = "Sample pupil"

// pollInterval is how often the demo asks how far the transcription is.
const pollInterval = 300 * time.Millisecond

// runLessons does the main job as a phone does it: sign in, save a profile,
// open a voice session, record lessons, wait, generate, save the record.
func (d *demo) runLessons(ctx context.Context) error {
	lessons, err := d.lessons()
	if err != nil {
		return err
	}
	c := feedbackclient.Development(d.base, "demo")
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	d.say("Signed in as teacher %s (development sign-in).", me.ID)
	p, err := c.EnsureProfile(ctx, pupil)
	if err != nil {
		return err
	}
	d.say("Profile of %q: %s.", p.Name, p.ID)
	s, err := c.OpenSession(ctx, p.ID)
	if err != nil {
		return err
	}
	d.say("Voice session: %s.", s.ID)

	var ids []string
	for _, audio := range lessons {
		id, err := d.recordLesson(ctx, c, s.ID, audio)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := d.waitForText(ctx, c, s.ID, ids); err != nil {
		return err
	}

	g, err := c.Generate(ctx, s.ID, ids)
	if err != nil {
		return err
	}
	if g.Warning != "" {
		d.say("Summary: %s", g.Warning)
	}
	r, err := c.SaveRecord(ctx, p.ID, s.ID, time.Now().Format(time.DateOnly), g.Text)
	if err != nil {
		return err
	}
	d.say("Saved as feedback record %s of %s (summary: %s):", r.ID, r.Date, g.Source)
	fmt.Fprintf(d.Stdout, "\n%s\n\n", r.Content)
	return nil
}

func (d *demo) lessons() ([][]sample, error) {
	if len(d.Audio) > 0 {
		return ownLessons(d.Audio)
	}
	return sampleLessons()
}

// recordLesson starts a lesson, uploads its segments and finishes it. Each
// upload is answered when the audio is safe, long before there is text. A
// lesson that an interrupted run left open is finished first.
func (d *demo) recordLesson(ctx context.Context, c feedbackclient.Client, sessionID string, audio []sample) (string, error) {
	l, err := c.StartLesson(ctx, sessionID)
	var refused *feedbackclient.Problem
	if errors.As(err, &refused) && refused.Code == "lesson_in_progress" {
		if err := d.finishOpenLesson(ctx, c, sessionID); err != nil {
			return "", err
		}
		l, err = c.StartLesson(ctx, sessionID)
	}
	if err != nil {
		return "", err
	}
	for i, a := range audio {
		began := time.Now()
		seg, err := c.Upload(ctx, l.ID, i, a.name, a.data)
		if err != nil {
			return "", err
		}
		d.say("Lesson %d: %s (%d KB) is stored and %s after %d ms.", l.Number, a.name, (len(a.data)+512)/1024, seg.State, time.Since(began).Milliseconds())
	}
	if l, err = c.FinishLesson(ctx, l.ID); err != nil {
		return "", err
	}
	d.say("Lesson %d is finished: %d segments, %d with text already.", l.Number, l.Summary.Total, l.Summary.Transcribed)
	return l.ID, nil
}

func (d *demo) finishOpenLesson(ctx context.Context, c feedbackclient.Client, sessionID string) error {
	s, err := c.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	for _, l := range s.Lessons {
		if l.State == "recording" {
			d.say("Lesson %d was left open; finishing it.", l.Number)
			_, err := c.FinishLesson(ctx, l.ID)
			return err
		}
	}
	return nil
}

// errNoRecogniser ends a -once run that has nothing to wait for.
var errNoRecogniser = errors.New("no speech recogniser answers: the audio is stored and queued, and is transcribed when the server runs with one")

// waitForText shows how far the transcription is until every segment of the
// lessons has its text. Where no recogniser answers it says so, once, and
// waits for one to appear.
func (d *demo) waitForText(ctx context.Context, c feedbackclient.Client, sessionID string, lessonIDs []string) error {
	var show *progressDisplay
	var told bool
	for {
		s, err := c.Session(ctx, sessionID)
		if err != nil {
			return err
		}
		total, ready, failure := progress(s, lessonIDs)
		if failure != "" {
			return fmt.Errorf("a segment could not be transcribed: %s", failure)
		}
		if show == nil {
			show = newProgressDisplay(d.Stderr, total)
		}
		show.set(ready)
		if ready == total {
			return nil
		}
		if !told && ready == 0 {
			h, err := c.Health(ctx)
			if err != nil {
				return err
			}
			if !h.Speech.Available && d.recogniserMissing() {
				if d.Once {
					return fmt.Errorf("%w (%s)", errNoRecogniser, h.Speech.Detail)
				}
				d.say("No speech recogniser yet: %s.", h.Speech.Detail)
				d.say("The audio is safe: all %d segments are stored and queued. I go on when a recogniser appears.", total)
				told = true
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// progress counts the segments of the lessons, and gives the reason of one
// that failed.
func progress(s feedbackclient.Session, lessonIDs []string) (total, ready int, failure string) {
	wanted := map[string]bool{}
	for _, id := range lessonIDs {
		wanted[id] = true
	}
	for _, l := range s.Lessons {
		if !wanted[l.ID] {
			continue
		}
		for _, seg := range l.Segments {
			total++
			switch seg.State {
			case "transcribed":
				ready++
			case "failed":
				failure = seg.Error
			}
		}
	}
	return total, ready, failure
}
