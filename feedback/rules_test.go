package feedback_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func TestProfileDefaults(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 31, 20, 0, 0, 0, time.UTC) // already the new year in the east
	e := newEnv(t, func(c *feedback.Config) {
		c.Now = func() time.Time { return now.In(time.FixedZone("CST", 8*60*60)) }
	})
	for name, c := range map[string]struct {
		in   feedback.ProfileInput
		want func(*feedback.Profile)
	}{
		"only a name": {feedback.ProfileInput{Name: "  Ming "}, func(*feedback.Profile) {}},
		"an end after the default": {feedback.ProfileInput{Name: "Ming", StartTime: "09:00"},
			func(p *feedback.Profile) { p.StartTime, p.EndTime = "09:00", "10:30" }},
		"no end on the next day": {feedback.ProfileInput{Name: "Ming", StartTime: "22:30"},
			func(p *feedback.Profile) { p.StartTime = "22:30" }},
		"an end in the last minute": {feedback.ProfileInput{Name: "Ming", StartTime: "22:29"},
			func(p *feedback.Profile) { p.StartTime, p.EndTime = "22:29", "23:59" }},
		"an empty end stays empty": {feedback.ProfileInput{Name: "Ming", StartTime: "09:00", EndTime: new("")},
			func(p *feedback.Profile) { p.StartTime = "09:00" }},
		"an end without start": {feedback.ProfileInput{Name: "Ming", EndTime: new("09:00")},
			func(p *feedback.Profile) { p.EndTime = "09:00" }},
		"given values are used, even empty ones": {
			feedback.ProfileInput{Name: "Ming", Grade: new(""), Subject: new("Music"), AcademicYear: new(1900)},
			func(p *feedback.Profile) { p.Grade, p.Subject, p.AcademicYear = "", "Music", 1900 }},
	} {
		got, err := e.CreateProfile(t.Context(), e.teacher, c.in)
		require.NoError(t, err, name)
		want := feedback.Profile{ID: got.ID, TeacherID: e.teacher, Name: "Ming", Grade: "Art class", Subject: "Art",
			AcademicYear: 2027, CreatedAt: now, UpdatedAt: now}
		c.want(&want)
		require.Equal(t, want, got, name)
	}
	saved := feedback.Defaults{Grade: "3", Subject: "Music", LessonDurationMinutes: 45}
	require.NoError(t, e.SaveDefaults(t.Context(), e.teacher, saved))
	got, err := e.CreateProfile(t.Context(), e.teacher, feedback.ProfileInput{Name: "Li", StartTime: "09:00"})
	require.NoError(t, err)
	require.Equal(t, []string{"3", "Music", "09:45"}, []string{got.Grade, got.Subject, got.EndTime})
}

func TestRulesNameEveryBrokenField(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.profile()
	long := strings.Repeat("字", 101)
	profile := func(in feedback.ProfileInput) func() error {
		return func() error { _, err := e.CreateProfile(t.Context(), e.teacher, in); return err }
	}
	record := func(date, content string) func() error {
		return func() error {
			_, _, err := e.CreateRecord(t.Context(), e.teacher,
				feedback.RecordInput{ProfileID: p.ID, Date: date, Content: content})
			return err
		}
	}
	records := func(f feedback.RecordFilter, p feedback.Page) func() error {
		return func() error { _, err := e.Records(t.Context(), e.teacher, f, p); return err }
	}
	for name, c := range map[string]struct {
		call   func() error
		fields []string
	}{
		"name of spaces": {profile(feedback.ProfileInput{Name: " \t "}), []string{"name"}},
		"name without a visible character": {profile(feedback.ProfileInput{Name: "\u200b\u3164 \u2800\u0301"}),
			[]string{"name"}},
		"direction overrides": {profile(feedback.ProfileInput{Name: "Ming\u202egnim", Grade: new("\u2066"),
			Term: "\u202a", GuardianTitle: "x\u2069"}), []string{"name", "grade", "term", "guardian_title"}},
		"line separators": {profile(feedback.ProfileInput{Name: "Ming\u2028Li", Subject: new("x\u2029")}),
			[]string{"name", "subject"}},
		"too long": {profile(feedback.ProfileInput{Name: long, Grade: &long, Term: long, GuardianTitle: long,
			AcademicYear: new(1899)}), []string{"name", "grade", "academic_year", "term", "guardian_title"}},
		"control characters": {profile(feedback.ProfileInput{Name: "a\x00b", Subject: new("a\nb")}),
			[]string{"name", "subject"}},
		"not UTF-8": {profile(feedback.ProfileInput{Name: "a\xff"}), []string{"name"}},
		"year too late": {profile(feedback.ProfileInput{Name: "x", AcademicYear: new(2201)}),
			[]string{"academic_year"}},
		"not a time of day": {profile(feedback.ProfileInput{Name: "x", StartTime: "24:00",
			EndTime: new("9:00")}), []string{"start_time", "end_time"}},
		"end before start": {profile(feedback.ProfileInput{Name: "x", StartTime: "10:00",
			EndTime: new("10:00")}), []string{"end_time"}},
		"not a day":                {record("2026-02-29", "x"), []string{"feedback_date"}},
		"empty content":            {record("2026-05-31", ""), []string{"content"}},
		"content too long":         {record("2026-05-31", strings.Repeat("字", 20_001)), []string{"content"}},
		"content with a zero byte": {record("2026-05-31", "a\x00"), []string{"content"}},
		"defaults": {func() error {
			return e.SaveDefaults(t.Context(), e.teacher,
				feedback.Defaults{Grade: long, Subject: long, LessonDurationMinutes: 601})
		}, []string{"grade", "subject", "lesson_duration_minutes"}},
		"session date": {func() error {
			_, _, err := e.OpenSession(t.Context(), e.teacher,
				feedback.SessionInput{ProfileID: p.ID, Date: new("today")})
			return err
		}, []string{"feedback_date"}},
		"year that no profile has": {records(feedback.RecordFilter{AcademicYear: math.MaxInt32}, feedback.Page{}),
			[]string{"academic_year"}},
		"page size":            {records(feedback.RecordFilter{}, feedback.Page{Limit: 201}), []string{"limit"}},
		"search for a control": {records(feedback.RecordFilter{Query: "\x00"}, feedback.Page{}), []string{"query"}},
		"cursor of another list": {records(feedback.RecordFilter{}, feedback.Page{Cursor: "eyJsIjoicHJvZmlsZXMifQ"}),
			[]string{"cursor"}},
		"lesson of another session": {func() error {
			_, err := e.Generate(t.Context(), e.teacher, e.lesson().SessionID, []uuid.UUID{uuid.New()})
			return err
		}, []string{"lesson_ids"}},
	} {
		err := c.call()
		require.ErrorIs(t, err, feedback.ErrInvalid, name)
		var invalid *feedback.Error
		require.ErrorAs(t, err, &invalid, name)
		var fields []string
		for _, f := range invalid.Fields {
			fields = append(fields, f.Field)
			require.NotEmpty(t, f.Message, name)
		}
		require.Equal(t, c.fields, fields, name)
	}
}

func TestNewNeedsStores(t *testing.T) {
	t.Parallel()
	_, err := feedback.New(feedback.Config{})
	require.Error(t, err)
	e := newEnv(t)
	_, err = feedback.New(feedback.Config{Store: e.store, Audio: struct{ feedback.AudioStore }{},
		Defaults: feedback.Defaults{LessonDurationMinutes: 601}})
	require.ErrorIs(t, err, feedback.ErrInvalid)
}
