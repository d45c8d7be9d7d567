package feedback

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
)

// Generated is the outcome of [Service.Generate].
type Generated struct {
	Summary
	Lessons  int           // whose text went into the summary
	Segments SegmentCounts // of the lessons that were looked at
}

// Generate makes a summary of the transcribed segments of the session's
// unapplied lessons, or of the lessons that are named, in order, and saves it
// as the session's generated text; the teacher's own text is not touched.
// Errors: [ErrNotFound], [ErrInvalid] for a lesson that is not the session's,
// [ErrSessionCompleted], [ErrNothingTranscribed], [ErrSummary].
func (s *Service) Generate(ctx context.Context, teacher, session uuid.UUID, lessons []uuid.UUID) (Generated, error) {
	whole, err := s.store.Session(ctx, teacher, session)
	if err != nil {
		return Generated{}, err
	}
	if whole.State == SessionCompleted {
		return Generated{}, sessionCompleted()
	}
	chosen, err := chooseLessons(whole.Lessons, lessons)
	if err != nil {
		return Generated{}, err
	}
	var g Generated
	var transcripts []string
	for _, l := range chosen {
		g.Segments.add(l.Segments)
		if t := l.Transcript(); t != "" {
			transcripts = append(transcripts, t)
		}
	}
	g.Lessons = len(transcripts)
	if g.Lessons == 0 {
		return Generated{}, &Error{Kind: ErrNothingTranscribed, Message: "no lesson has a transcript yet"}
	}
	profile, err := s.store.Profile(ctx, teacher, whole.ProfileID)
	if err != nil {
		return Generated{}, err
	}
	if g.Summary, err = s.summarize(ctx, SummaryInput{Transcripts: transcripts, Names: []string{profile.Name}}); err != nil {
		return Generated{}, err
	}
	return g, s.store.SaveGenerated(ctx, teacher, session, g.Text, s.now())
}

func (s *Service) summarize(ctx context.Context, in SummaryInput) (Summary, error) {
	if s.cfg.Summarizer == nil {
		return Summary{}, &Error{Kind: ErrSummary, Message: "no summarizer is configured"}
	}
	out, err := s.cfg.Summarizer.Summarize(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return Summary{}, ctx.Err()
		}
		if errors.Is(err, ErrNothingTranscribed) {
			return Summary{}, &Error{Kind: ErrNothingTranscribed, Message: "the transcripts hold no words", Err: err}
		}
		return Summary{}, &Error{Kind: ErrSummary, Message: "the summary could not be made", Err: err}
	}
	if out.Text = cleanText(out.Text); out.Text == "" {
		return Summary{}, &Error{Kind: ErrSummary, Message: "the summary came out empty", Err: errors.New("empty summary")}
	}
	return out, nil
}

// chooseLessons returns the named lessons of all, or the unapplied ones where
// none is named, in the order of all.
func chooseLessons(all []Lesson, named []uuid.UUID) ([]Lesson, error) {
	for _, id := range named {
		if !slices.ContainsFunc(all, func(l Lesson) bool { return l.ID == id }) {
			return nil, Invalid("lesson_ids", "names %s, which is not a lesson of this session", id)
		}
	}
	var chosen []Lesson
	for _, l := range all {
		if len(named) == 0 && !l.Applied || slices.Contains(named, l.ID) {
			chosen = append(chosen, l)
		}
	}
	return chosen, nil
}

func sessionCompleted() error {
	return &Error{Kind: ErrSessionCompleted, Message: "the session is completed and changes no more"}
}
