package feedback

import (
	"time"

	"github.com/google/uuid"
)

// Profile describes one student of one teacher.
type Profile struct {
	ID        uuid.UUID
	TeacherID uuid.UUID

	Name          string
	Grade         string
	Subject       string
	AcademicYear  int
	Term          string
	GuardianTitle string // how the guardian is addressed
	StartTime     string // time of day, HH:MM, or ""
	EndTime       string // time of day, HH:MM, or ""; after StartTime where both are set

	CreatedAt time.Time
	UpdatedAt time.Time
}

// ProfileInput is what a teacher says about a student. A nil field takes its
// default: grade and subject from the teacher's [Defaults], the current year,
// and an end one default lesson after the start where that is on the same day.
type ProfileInput struct {
	Name          string // 1 to 100 characters after trimming
	Grade         *string
	Subject       *string
	AcademicYear  *int // 1900 to 2200
	Term          string
	GuardianTitle string
	StartTime     string // HH:MM or ""
	EndTime       *string
}

// ProfileFilter chooses profiles. Its conditions combine; "" is none.
type ProfileFilter struct {
	Query   string // occurs in the name, whatever the case
	Grade   string // equals exactly
	Subject string // equals exactly
}

// Defaults are what a teacher's new profiles start from.
type Defaults struct {
	Grade                 string
	Subject               string
	LessonDurationMinutes int // 1 to 600
}

// artClass is what [Config.Defaults] defaults to.
var artClass = Defaults{Grade: "Art class", Subject: "Art", LessonDurationMinutes: 90}

// The limits of a profile's fields.
const (
	MaxStringLength      = 100 // characters of a name, grade, subject, term or title
	MinAcademicYear      = 1900
	MaxAcademicYear      = 2200
	MaxLessonDuration    = 600 // minutes
	MaxContentLength     = 20_000
	MaxSequence          = 9999
	maxSegmentDurationMS = 24 * 60 * 60 * 1000
)

// profile applies the rules of in to make a profile.
func (in ProfileInput) profile(d Defaults, year int) (Profile, error) {
	var v validator
	p := Profile{
		Name:          v.name("name", in.Name),
		Grade:         v.line("grade", orDefault(in.Grade, d.Grade)),
		Subject:       v.line("subject", orDefault(in.Subject, d.Subject)),
		AcademicYear:  v.between("academic_year", orDefault(in.AcademicYear, year), MinAcademicYear, MaxAcademicYear),
		Term:          v.line("term", in.Term),
		GuardianTitle: v.line("guardian_title", in.GuardianTitle),
		StartTime:     v.timeOfDay("start_time", in.StartTime),
	}
	if in.EndTime != nil {
		p.EndTime = v.timeOfDay("end_time", *in.EndTime)
		if p.StartTime != "" && p.EndTime != "" && p.EndTime <= p.StartTime {
			v.fail("end_time", "must be after start_time (%s)", p.StartTime)
		}
	} else {
		p.EndTime = addMinutes(p.StartTime, d.LessonDurationMinutes)
	}
	return p, v.err()
}

// addMinutes returns the time of day that many minutes after start, or ""
// where that is on the next day or start is not set.
func addMinutes(start string, minutes int) string {
	t, err := time.Parse(timeOfDayLayout, start)
	if err != nil {
		return ""
	}
	end := t.Add(time.Duration(minutes) * time.Minute)
	if end.Day() != t.Day() {
		return ""
	}
	return end.Format(timeOfDayLayout)
}

func (d Defaults) validate() error {
	var v validator
	v.line("grade", d.Grade)
	v.line("subject", d.Subject)
	v.between("lesson_duration_minutes", d.LessonDurationMinutes, 1, MaxLessonDuration)
	return v.err()
}

func orDefault[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}
