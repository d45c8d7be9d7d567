package feedback

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Summarizer turns the transcripts of lessons into feedback text. It is safe for concurrent use.
// Package summary has one that needs no service, one for chat-completions endpoints, and a
// fallback.
type Summarizer interface {
	// Summarize returns a summary. It fails with [ErrNothingTranscribed] if the transcripts contain
	// no words, or none that are to be written. Errors are logged, so they contain nothing of the
	// input.
	Summarize(ctx context.Context, in SummaryInput) (Summary, error)
}

// SummaryInput is the input of a [Summarizer]. All but the lessons may be empty.
type SummaryInput struct {
	Lessons []SummaryLesson // in their order

	// Report means that the lessons are records of feedback, of a term for example: the summary
	// tells what changed from the oldest to the newest, with the days, and leaves out homework and
	// notices.
	Report bool

	// Student is the student's name, and GuardianTitle how the guardian is addressed. A summarizer
	// that sends text to another service sends neither.
	Student       string
	GuardianTitle string

	Subject string
	Grade   string
	Term    string
	Date    string // YYYY-MM-DD, the day that the feedback is for

	// LastRecord is the text of the student's last record, which tells what the homework was.
	LastRecord string
	// Words are names and terms with their right spelling, see [Service.Words].
	Words []string
	// Instructions are the teacher's wishes for tone and form.
	Instructions string
}

// SummaryLesson is a lesson in a [SummaryInput].
type SummaryLesson struct {
	Text string // the transcript, not empty
	Date string // YYYY-MM-DD, the day on which the lesson was recorded
}

// Summary is feedback text made from transcripts.
type Summary struct {
	Text   string
	Source SummarySource

	// Warning is for the teacher, such as that another summarizer was used; usually "". It has a
	// line for each of WarningCodes, in their order, and after it what that names, in lines that
	// begin with "- ".
	Warning string
	// WarningCodes are Warning for programs.
	WarningCodes []SummaryWarning

	// Unsure are sentences of Text in which a correction, a request not to write something or an
	// aside may have been misunderstood, so that the teacher should read them again.
	Unsure []string
}

// SummaryWarning is what to know about a [Summary], for programs.
type SummaryWarning string

// The warnings of the summarizers of package summary.
const (
	// WarningFallback: another summarizer failed; the text consists of the lessons' own sentences.
	WarningFallback SummaryWarning = "summary_service_failed"
	// WarningShortened: the lessons were too long; the warning names the sentences that the text
	// leaves out.
	WarningShortened SummaryWarning = "lessons_shortened"
	// WarningIncomplete: the text may end early, at the length limit of the service.
	WarningIncomplete SummaryWarning = "summary_incomplete"
	// WarningUnknownName: the text mentions a person whose name could not be restored.
	WarningUnknownName SummaryWarning = "name_not_restored"
	// WarningUnsupported: the text has numbers or dates that were not said; Warning names them.
	WarningUnsupported SummaryWarning = "unsupported_number"
	// WarningLeftOut: the text lacks numbers, dates, homework or notices that were said; Warning
	// names them.
	WarningLeftOut SummaryWarning = "left_out"
	// WarningDoubtfulLeftOut: sentences that may not have been said were left out, by
	// [Service.Generate].
	WarningDoubtfulLeftOut SummaryWarning = "doubtful_left_out"
)

// SummarySource is where a summary was made.
type SummarySource string

// The sources of a [Summary].
const (
	SummaryLocal  SummarySource = "local"  // in this process, from the transcripts' own sentences
	SummaryRemote SummarySource = "remote" // by a chat-completions endpoint
)

// Generated is the result of [Service.Generate].
type Generated struct {
	Summary
	// Sentences are those of Text with the segments that they come from; at most the first 500, and
	// none if the text is in another script than the transcripts.
	Sentences []SummarySentence
	Lessons   int           // whose text was summarized
	Segments  SegmentCounts // of all selected lessons

	input    SummaryInput
	sources  []source
	doubtful bool // whether the sources lack sentences
}

// generateTimeout is how long one summary may take, its storage included.
const generateTimeout = 5 * time.Minute

// Generate summarizes the transcribed segments of the session's unapplied lessons, or of the given
// lessons, in order, and saves the summary as the session's generated text; the teacher's own text
// is not changed. Concurrent calls of this Service for the same lessons, if nothing of the
// [SummaryInput] changed between them, share one summary, which is completed even if ctx ends.
// Errors: [ErrNotFound], [ErrInvalid] if a lesson is not the session's, [ErrSessionCompleted],
// [ErrNothingTranscribed], [ErrLimit], [ErrSummary].
func (s *Service) Generate(ctx context.Context, teacher, session uuid.UUID, lessons []uuid.UUID) (Generated, error) {
	lessons = slices.Clone(lessons)
	slices.SortFunc(lessons, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	lessons = slices.Compact(lessons)
	asked, err := s.toSummarize(ctx, teacher, session, lessons)
	if err != nil {
		return Generated{}, err
	}
	var g Generated
	for range 2 { // one that runs may have begun before the last change, but not the next one
		own := false
		g, err = share(ctx, s, fmt.Sprint(teacher, session, lessons), func(ctx context.Context) (Generated, error) {
			own = true
			return s.generate(ctx, teacher, session, lessons)
		})
		if ctx.Err() != nil || own {
			break
		}
		if reflect.DeepEqual(g.input, asked.input) {
			g.Segments = asked.Segments // also those that have no text yet
			break
		}
	}
	return g, err
}

// share runs a summary, or waits for a running one with the same key. It goes on if ctx ends.
func share[T any](
	ctx context.Context, s *Service, key string, summarize func(context.Context) (T, error),
) (out T, err error) {
	result := s.summaries.DoChan(key, func() (v any, err error) {
		defer func() {
			if v := recover(); v != nil { // it would end the process
				err = fmt.Errorf("feedback: summarizer panicked: %v\n%s", v, debug.Stack())
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), generateTimeout)
		defer cancel()
		return summarize(ctx)
	})
	select {
	case r := <-result:
		out, _ = r.Val.(T)
		return out, r.Err
	case <-ctx.Done():
		return out, ctx.Err()
	}
}

func (s *Service) generate(ctx context.Context, teacher, session uuid.UUID, lessons []uuid.UUID) (Generated, error) {
	g, err := s.toSummarize(ctx, teacher, session, lessons)
	if err != nil {
		return Generated{}, err
	}
	if g.Summary, err = s.summarize(ctx, teacher, g.input); err != nil {
		return g, err
	}
	g.Sentences = evidenceOf(g.Summary, g.sources, g.input.Student)
	if g.doubtful {
		g.Warning = strings.TrimSpace(g.Warning + "\nSome text was left out, because it may not have been said.")
		g.WarningCodes = append(g.WarningCodes, WarningDoubtfulLeftOut)
	}
	return g, s.store.SaveGenerated(ctx, teacher, session, g.Text, s.now())
}

// toSummarize returns the input of a summary with its lessons and their segments.
func (s *Service) toSummarize(
	ctx context.Context, teacher, session uuid.UUID, lessons []uuid.UUID,
) (g Generated, err error) {
	if err := s.checkText(ctx, teacher); err != nil {
		return Generated{}, err
	}
	whole, err := s.store.Session(ctx, teacher, session)
	if err != nil {
		return Generated{}, err
	}
	if whole.State == SessionCompleted {
		return Generated{},
			&Error{Kind: ErrSessionCompleted, Message: "the session is completed and can no longer be changed"}
	}
	selected, err := selectLessons(whole.Lessons, lessons)
	if err != nil {
		return Generated{}, err
	}
	in := &g.input
	left := maxSummaryText
	for _, l := range selected {
		g.Segments.add(l.Counts)
		said, some, err := s.transcript(ctx, teacher, l, left)
		if err != nil {
			return Generated{}, err
		}
		g.doubtful = g.doubtful || some
		g.sources = append(g.sources, said...)
		text := strings.Join(textsOf(said), "\n")
		if left -= len(text); text != "" {
			in.Lessons = append(in.Lessons, SummaryLesson{Text: text, Date: s.lessonDate(whole, l)})
		}
	}
	g.Lessons = len(in.Lessons)
	switch {
	case g.Lessons == 0 && g.doubtful:
		return Generated{}, &Error{Kind: ErrNothingTranscribed,
			Message: "all that was recognised is doubtful; listen to the recordings"}
	case len(selected) == 0 && len(whole.Lessons) > 0:
		return Generated{}, &Error{Kind: ErrNothingTranscribed,
			Message: "all lessons are applied; select those to summarize again"}
	case g.Lessons == 0:
		return Generated{}, &Error{Kind: ErrNothingTranscribed, Message: "no lesson has a transcript yet"}
	}
	in.Date = whole.Date
	if err := s.describe(ctx, teacher, whole.ProfileID, in); err != nil {
		return Generated{}, err
	}
	last, _, err := s.store.Records(ctx, teacher,
		RecordFilter{ProfileID: uuid.NullUUID{UUID: whole.ProfileID, Valid: true}}, nil, 1)
	if len(last) > 0 {
		in.LastRecord = last[0].Content
	}
	return g, err
}

// describe adds what a summarizer should know of a student and the teacher.
func (s *Service) describe(ctx context.Context, teacher, profile uuid.UUID, in *SummaryInput) error {
	p, err := s.store.Profile(ctx, teacher, profile)
	if err != nil {
		return err
	}
	in.Student, in.GuardianTitle = p.Name, p.GuardianTitle
	in.Subject, in.Grade, in.Term = p.Subject, p.Grade, p.Term
	d, err := s.Defaults(ctx, teacher)
	if err != nil {
		return err
	}
	in.Instructions = d.SummaryInstructions
	in.Words, err = s.store.Words(ctx, teacher)
	return err
}

// lessonDate returns the day of a lesson. When a session is opened, its date is the day where the
// teacher is, which may be the day before or after here.
func (s *Service) lessonDate(session Session, l Lesson) string {
	day := func(t time.Time) time.Time {
		y, m, d := t.In(s.cfg.Now().Location()).Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	date, err := time.Parse(dateLayout, session.Date)
	shift := date.Sub(day(session.CreatedAt))
	if err != nil || shift.Abs() > 24*time.Hour { // chosen by the teacher
		shift = 0
	}
	return day(l.StartedAt).Add(shift).Format(dateLayout)
}

// maxSummaryText is the size of the transcripts of one summary, in bytes: more than 20 hours of
// speech.
const maxSummaryText = 1 << 20

// transcript returns what was said in the segments of a lesson without doubtful sentences, and
// whether there are any. Its size is limited.
func (s *Service) transcript(
	ctx context.Context, teacher uuid.UUID, l Lesson, limit int,
) (said []source, doubtful bool, err error) {
	for g, err := range s.segments(ctx, teacher, l) {
		if err != nil {
			return nil, false, err
		}
		certain, some := g.certainText()
		doubtful = doubtful || some
		if certain == "" {
			continue
		}
		if limit -= len(certain) + 1; limit < 0 {
			return nil, false, Invalid("lesson_ids", "select more than %d MB of transcripts; select fewer lessons",
				maxSummaryText>>20)
		}
		said = append(said, source{g.ID, certain})
	}
	return said, doubtful, nil
}

// summarize makes a summary. It is counted before: it may be paid for even if it fails.
func (s *Service) summarize(ctx context.Context, teacher uuid.UUID, in SummaryInput) (Summary, error) {
	if s.cfg.Summarizer == nil {
		return Summary{}, &Error{Kind: ErrSummary, Message: "no summarizer is configured"}
	}
	now := s.now()
	used, err := s.store.AddUsage(ctx, teacher, Usage{Summaries: 1}, now)
	if err != nil {
		return Summary{}, err
	}
	if limit := s.cfg.Limits.Summaries; limit >= 0 && used.Summaries > limit {
		return Summary{}, limitReached(now, "%d summaries", limit)
	}
	out, err := s.cfg.Summarizer.Summarize(ctx, in)
	if err != nil {
		if errors.Is(err, ErrNothingTranscribed) {
			return Summary{}, &Error{Kind: ErrNothingTranscribed, Message: "the transcripts contain no words to write",
				Err: err}
		}
		return Summary{}, &Error{Kind: ErrSummary, Message: "the summary could not be generated", Err: err}
	}
	if out.Text = cleanText(out.Text); out.Text == "" {
		return Summary{}, &Error{Kind: ErrSummary, Message: "the summary is empty"}
	}
	return out, nil
}

// selectLessons returns the lessons with the given identifiers, or the unapplied ones if there are
// none, in the order of all.
func selectLessons(all []Lesson, ids []uuid.UUID) ([]Lesson, error) {
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(l Lesson) bool { return l.ID == id }) {
			return nil, Invalid("lesson_ids", "contains %s, which is not a lesson of this session", id)
		}
	}
	var selected []Lesson
	for _, l := range all {
		if len(ids) == 0 && !l.Applied || slices.Contains(ids, l.ID) {
			selected = append(selected, l)
		}
	}
	return selected, nil
}
