package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lessonkit.example/examples/internal/program"
	"lessonkit.example/feedback/feedbackclient"
)

// teacher signs in by name and has the student of the spoken lessons.
const (
	teacher = "demo"
	student = "Sample student"
)

// pollInterval is how often the demo reads the state of the transcription.
const pollInterval = 300 * time.Millisecond

// runLessons sends the requests of a phone: sign in, save a profile, open a voice session, upload
// lessons, wait for their text, generate the feedback, save the record.
func (d *demo) runLessons(ctx context.Context) error {
	lessons, err := d.lessons()
	if err != nil {
		return err
	}
	c := feedbackclient.Development(d.url, teacher)
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	d.printf("Signed in as teacher %s (development sign-in).", me.ID)
	p, err := c.EnsureProfile(ctx, student)
	if err != nil {
		return err
	}
	d.profile = p.ID
	d.printf("Profile of %q: %s.", p.Name, p.ID)
	s, err := c.OpenSession(ctx, p.ID)
	if err != nil {
		return err
	}
	d.printf("Voice session: %s.", s.ID)

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
		d.printf("Summary: %s", g.Warning)
	}
	r, err := c.SaveRecord(ctx, p.ID, s.ID, time.Now().Format(time.DateOnly), g.Text)
	if err != nil {
		return err
	}
	d.printf("Saved as feedback record %s of %s (summary: %s):", r.ID, r.Date, g.Source)
	fmt.Fprintf(d.Stdout, "\n%s\n\n", r.Content)
	return nil
}

func (d *demo) lessons() ([][]sample, error) {
	if len(d.Audio) > 0 {
		return recordedLesson(d.Audio)
	}
	return sampleLessons()
}

// recordLesson starts a lesson, uploads its segments and finishes it. An upload is acknowledged
// when the audio is stored and queued, before it is transcribed. A lesson that an interrupted run
// left open is finished first.
func (d *demo) recordLesson(
	ctx context.Context, c feedbackclient.Client, sessionID string, audio []sample,
) (string, error) {
	l, err := c.StartLesson(ctx, sessionID)
	if refused, ok := errors.AsType[*feedbackclient.Problem](err); ok && refused.Code == "lesson_in_progress" {
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
		d.printf("Lesson %d: %s (%d KB) is stored and %s after %d ms.",
			l.Number, a.name, (len(a.data)+512)/1024, seg.State, time.Since(began).Milliseconds())
	}
	if l, err = c.FinishLesson(ctx, l.ID); err != nil {
		return "", err
	}
	d.printf("Lesson %d is finished: %d segments, %d of them transcribed.", l.Number, l.Summary.Total,
		l.Summary.Transcribed)
	return l.ID, nil
}

func (d *demo) finishOpenLesson(ctx context.Context, c feedbackclient.Client, sessionID string) error {
	s, err := c.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	for _, l := range s.Lessons {
		if l.State == "recording" {
			d.printf("Lesson %d was left open; finishing it.", l.Number)
			_, err := c.FinishLesson(ctx, l.ID)
			return err
		}
	}
	return nil
}

// errNoRecognizer is returned if nothing can transcribe the lessons.
var errNoRecognizer = errors.New("no speech recogniser is available: the audio is stored and queued, " +
	"and is transcribed when the server runs with one")

// waitForText shows the progress of the transcription until every segment of the lessons is
// transcribed. A recognizer that the user configured has 10 seconds to answer if the demo runs
// once.
func (d *demo) waitForText(
	ctx context.Context, c feedbackclient.Client, sessionID string, lessonIDs []string,
) error {
	if d.missing != nil {
		return fmt.Errorf("%w (%w)", errNoRecognizer, d.missing)
	}
	shown := -1
	for {
		s, err := c.Session(ctx, sessionID)
		if err != nil {
			return err
		}
		total, ready, failure := progress(s, lessonIDs)
		if failure != "" {
			return fmt.Errorf("a segment could not be transcribed: %s", failure)
		}
		if ready != shown {
			fmt.Fprintf(d.Stderr, "Transcribing: %d of %d segments are done.\n", ready, total)
			shown = ready
		}
		if ready == total {
			return nil
		}
		if d.Once && ready == 0 && time.Since(d.started) > 10*time.Second {
			h, err := c.Health(ctx)
			if err != nil {
				return err
			}
			if !h.Speech.Available {
				return fmt.Errorf("%w (%s)", errNoRecognizer, h.Speech.Detail)
			}
		}
		if !program.Pause(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

// progress counts the segments of the lessons. The failure is the error of a segment that failed.
func progress(s feedbackclient.Session, lessonIDs []string) (total, ready int, failure string) {
	for _, l := range s.Lessons {
		if !slices.Contains(lessonIDs, l.ID) {
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
