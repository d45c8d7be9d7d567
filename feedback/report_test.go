package feedback_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/summary"
)

// TestReportOfATerm is a message with the days of the records, whose sentences name these.
func TestReportOfATerm(t *testing.T) {
	t.Parallel()
	heard := &listening{}
	summarizer := feedback.Summarizer(summary.Local{})
	e := newEnv(t, func(c *feedback.Config) {
		c.Summarizer = chosen{&summarizer}
		c.Limits = feedback.Limits{Summaries: 4}
	})
	p, err := e.CreateProfile(t.Context(), e.teacher, feedback.ProfileInput{Name: "Ming", GuardianTitle: "Ms Li",
		Subject: new("Piano"), Grade: new("2"), Term: "spring", AcademicYear: new(2026)})
	require.NoError(t, err)
	var records []feedback.Record
	for i, content := range []string{"Ming holds the bow stiffly. Homework: page 1.",
		"The bow is held loosely now. Homework: page 2."} {
		session, _, err := e.OpenSession(t.Context(), e.teacher, feedback.SessionInput{ProfileID: p.ID})
		require.NoError(t, err)
		for range i + 1 {
			l, err := e.StartLesson(t.Context(), e.teacher, session.ID)
			require.NoError(t, err)
			_, err = e.FinishLesson(t.Context(), e.teacher, l.ID)
			require.NoError(t, err)
		}
		r, _, err := e.CreateRecord(t.Context(), e.teacher, feedback.RecordInput{ProfileID: p.ID, Content: content,
			Date: fmt.Sprintf("2026-0%d-01", i+3), SessionID: uuid.NullUUID{UUID: session.ID, Valid: true}})
		require.NoError(t, err)
		records = append(records, r)
	}
	report := func(r feedback.ReportRange) (feedback.Report, error) {
		return e.Report(t.Context(), e.teacher, p.ID, r)
	}
	got, err := report(feedback.ReportRange{AcademicYear: 2026, Term: "spring"})
	require.NoError(t, err)
	require.Equal(t, []int{3, 2}, []int{got.Lessons, got.Records})
	require.Equal(t, "Dear Ms Li,\n\nHere is Ming's lesson feedback for 1 March 2026 to 1 April 2026:\n\n"+
		"1 March: Ming holds the bow stiffly.\n1 April: The bow is held loosely now.\n\n"+
		"Please get in touch if you have any questions.", got.Text)
	require.Equal(t, []feedback.SummarySentence{
		{"1 March: Ming holds the bow stiffly.", []uuid.UUID{records[0].ID}, true, false},
		{"1 April: The bow is held loosely now.", []uuid.UUID{records[1].ID}, true, false},
	}, got.Sentences)
	got, err = report(feedback.ReportRange{From: "2026-03-02", To: "2026-04-01"})
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, []int{got.Lessons, got.Records})
	require.Contains(t, got.Text, "for 1 April 2026:")

	summarizer = heard
	_, err = report(feedback.ReportRange{AcademicYear: 2026})
	require.NoError(t, err)
	require.Equal(t, feedback.SummaryInput{Report: true, Student: "Ming", GuardianTitle: "Ms Li", Subject: "Piano",
		Grade: "2", Term: "spring", Date: "2026-04-01", Lessons: []feedback.SummaryLesson{
			{Text: records[0].Content, Date: "2026-03-01"},
			{Text: records[1].Content, Date: "2026-04-01"}}}, heard.heard)

	for _, none := range []feedback.ReportRange{{AcademicYear: 2025}, {AcademicYear: 2026, Term: "Spring"},
		{From: "2027-01-01", To: "2027-01-01"}} {
		_, err = report(none)
		require.ErrorIs(t, err, feedback.ErrNothingToReport)
	}
	for field, bad := range map[string]feedback.ReportRange{
		"from":          {},
		"from ":         {From: "2026-01-01", To: "2026-02-01", AcademicYear: 2026},
		"from  ":        {From: "2026-13-01", To: "2026-02-01"},
		"to":            {From: "2026-01-01"},
		"to ":           {From: "2026-02-01", To: "2026-01-01"},
		"academic_year": {AcademicYear: 20260},
		"term":          {AcademicYear: 2026, Term: "a\nb"},
	} {
		_, err = report(bad)
		require.ErrorIs(t, err, feedback.ErrInvalid, field)
		require.ErrorContains(t, err, strings.TrimSpace(field)+" ")
	}
	_, err = e.Report(t.Context(), uuid.New(), p.ID, feedback.ReportRange{AcademicYear: 2026})
	require.ErrorIs(t, err, feedback.ErrNotFound)

	_, err = report(feedback.ReportRange{AcademicYear: 2026})
	require.NoError(t, err, "what was refused did not count")
	_, err = report(feedback.ReportRange{AcademicYear: 2026})
	requireLimit(t, err, 30*time.Minute)
}

func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) { c.Summarizer = summary.Local{} })
	p := e.profile()
	for i := range 55 {
		_, _, err := e.CreateRecord(t.Context(), e.teacher, feedback.RecordInput{ProfileID: p.ID, Date: "2026-05-31",
			Content: strings.Repeat(fmt.Sprint(i%10), 20_000)})
		require.NoError(t, err)
	}
	_, err := e.Report(t.Context(), e.teacher, p.ID, feedback.ReportRange{From: "2026-05-31", To: "2026-05-31"})
	require.ErrorContains(t, err, "from selects more than 1 MB of records")
	_, err = e.Report(t.Context(), e.teacher, p.ID, feedback.ReportRange{AcademicYear: 2026})
	require.ErrorContains(t, err, "academic_year selects more than")
}
