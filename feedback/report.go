package feedback

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// ReportRange selects the records of a [Report]: those of the days From to To, or those of an
// academic year or of one of its terms.
type ReportRange struct {
	From, To     string // YYYY-MM-DD
	AcademicYear int
	Term         string // "" for the whole year
}

func (r ReportRange) validate() error {
	var v validator
	days, year := r.From != "" || r.To != "", r.AcademicYear != 0 || r.Term != ""
	switch {
	case days == year:
		v.fail("from", "must be set with to, or academic_year without them")
	case days:
		v.date("from", r.From)
		v.date("to", r.To)
		if v.err() == nil && r.To < r.From {
			v.fail("to", "is before from")
		}
	default:
		v.between("academic_year", r.AcademicYear, minAcademicYear, maxAcademicYear)
		v.line("term", r.Term)
	}
	return v.err()
}

// Report is a text about a student over many lessons.
type Report struct {
	// Summary has the text in the teacher's [Defaults].MessageTemplate, with the days of the first
	// and the last record as its date.
	Summary
	// Sentences are those of the text within the message, with the records that they come from.
	Sentences []SummarySentence
	Lessons   int // of the sessions of the records
	Records   int
}

// Report tells what changed for a student over the records of a range, and counts as a summary of
// the [Limits]. Nothing is stored. Concurrent calls of this Service for the same range share one
// report, which is completed even if ctx ends. Errors: [ErrNotFound], [ErrInvalid],
// [ErrNothingToReport], [ErrLimit], [ErrSummary].
func (s *Service) Report(ctx context.Context, teacher, profile uuid.UUID, r ReportRange) (Report, error) {
	if err := r.validate(); err != nil {
		return Report{}, err
	}
	return share(ctx, s, fmt.Sprint("report", teacher, profile, r), func(ctx context.Context) (Report, error) {
		return s.report(ctx, teacher, profile, r)
	})
}

func (s *Service) report(ctx context.Context, teacher, profile uuid.UUID, r ReportRange) (Report, error) {
	in := SummaryInput{Report: true}
	if err := s.describe(ctx, teacher, profile, &in); err != nil {
		return Report{}, err
	}
	filter := RecordFilter{ProfileID: uuid.NullUUID{UUID: profile, Valid: true},
		From: r.From, To: r.To, AcademicYear: r.AcademicYear, Term: r.Term}
	records, err := s.allRecords(ctx, teacher, filter)
	if err != nil {
		return Report{}, err
	}
	if len(records) == 0 {
		return Report{}, &Error{Kind: ErrNothingToReport, Message: "there are no records in this range"}
	}
	out := Report{Records: len(records)}
	if out.Lessons, err = s.store.CountLessons(ctx, teacher, filter); err != nil {
		return Report{}, err
	}
	var sources []source
	for _, record := range records {
		in.Lessons = append(in.Lessons, SummaryLesson{Text: record.Content, Date: record.Date})
		dates := writtenDate(record.Date, false) + " " + writtenDate(record.Date, true)
		sources = append(sources, source{record.ID, dates + "\n" + record.Content})
	}
	first, last := records[0].Date, records[len(records)-1].Date
	in.Date = last
	if out.Summary, err = s.summarize(ctx, teacher, in); err != nil {
		if errors.Is(err, ErrNothingTranscribed) {
			err = &Error{Kind: ErrNothingToReport, Message: "the records of this range contain no words"}
		}
		return Report{}, err
	}
	out.Sentences = evidenceOf(out.Summary, sources, in.Student)
	out.Text, err = s.message(ctx, teacher, profile, first, last, out.Text)
	return out, err
}

// allRecords returns the records that a filter selects, oldest first. Their size is limited.
func (s *Service) allRecords(ctx context.Context, teacher uuid.UUID, f RecordFilter) ([]Record, error) {
	const rowSize = 100 // at least, in memory
	var all []Record
	var after *RecordKey
	for left, more := maxSummaryText, true; more; {
		var page []Record
		var err error
		if page, more, err = s.store.Records(ctx, teacher, f, after, maxPageSize); err != nil {
			return nil, err
		}
		for _, r := range page {
			if left -= len(r.Content) + rowSize; left < 0 {
				field := "from"
				if f.From == "" {
					field = "academic_year"
				}
				return nil, Invalid(field, "selects more than %d MB of records; select fewer", maxSummaryText>>20)
			}
			after = &RecordKey{Date: r.Date, CreatedAt: r.CreatedAt, ID: r.ID}
		}
		all = append(all, page...)
	}
	slices.Reverse(all)
	return all, nil
}
