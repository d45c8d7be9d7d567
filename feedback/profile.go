package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
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

	LastDate  string // of the newest record, YYYY-MM-DD, or ""; only in lists
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ProfileInput holds the fields of a profile. A nil field takes its default: grade and subject come
// from the teacher's [Defaults], the year is the current one, and the end time is one default
// lesson after the start time if that is on the same day.
type ProfileInput struct {
	Name          string // 1 to 100 characters after trimming
	Grade         *string
	Subject       *string
	AcademicYear  *int // 1900 to 2200
	Term          string
	GuardianTitle string
	StartTime     string // HH:MM or ""
	EndTime       *string

	// IdempotencyKey, if not "", names the request to create a profile: for a day, a repeated
	// request with the same key creates nothing. At most 255 visible ASCII characters.
	IdempotencyKey string
}

// ProfileFilter selects profiles. All conditions must hold; "" is no condition.
type ProfileFilter struct {
	Query   string // is part of the name, ignoring case and width
	Grade   string // equals exactly
	Subject string // equals exactly
}

// Defaults are the default values of a teacher's new profiles and recordings, and the form of the
// texts for families.
type Defaults struct {
	Grade                 string
	Subject               string
	LessonDurationMinutes int // 1 to 600
	// Language is the language of the teacher's recordings as a tag such as "en" or "zh-CN". If it
	// is empty, that of [Config].Defaults counts, or else the configuration of the transcriber.
	Language string

	// MessageTemplate is the message to the guardian around a feedback text, of at most 2000
	// characters: {text}, which occurs once, and {guardian_title}, {name}, {date}, {subject},
	// {grade} and {term} are filled in, and what an empty one would leave over, such as a comma or
	// a line, is left out. If the template is empty, the message is a letter in the language of
	// the text, Chinese or English.
	MessageTemplate string
	// SummaryInstructions are wishes for tone and form of generated texts, which only a summarizer
	// that uses a language model can fulfil. At most 2000 characters.
	SummaryInstructions string
}

const (
	minAcademicYear   = 1900
	maxAcademicYear   = 2200
	maxLessonDuration = 600 // minutes
)

// addMinutes returns the time of day that many minutes after start, or "" if that is on the next
// day or start is "".
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
	v.between("lesson_duration_minutes", d.LessonDurationMinutes, 1, maxLessonDuration)
	v.language("language", d.Language)
	v.template("message_template", d.MessageTemplate)
	v.text("summary_instructions", d.SummaryInstructions, 0, maxTemplateLength)
	return v.err()
}

// languageTag matches tags of BCP 47 that begin with a language.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)

func orDefault[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}

// CreateProfile creates a profile. A repeated idempotency key returns the profile of its first use.
// Errors: [ErrInvalid], [ErrKeyReused].
func (s *Service) CreateProfile(ctx context.Context, teacher uuid.UUID, in ProfileInput) (Profile, error) {
	p, err := s.profile(ctx, teacher, in)
	if err != nil {
		return Profile{}, err
	}
	p.ID = uuid.Must(uuid.NewV7())
	p.CreatedAt = p.UpdatedAt
	key := in.IdempotencyKey
	in.IdempotencyKey = ""
	asked, _ := json.Marshal(in) // strings and numbers
	return s.store.InsertProfile(ctx, p, newKey(key, p.CreatedAt, "profile "+string(asked)))
}

// ReplaceProfile replaces all fields of a profile; the rules are those of CreateProfile. Errors:
// [ErrInvalid], [ErrNotFound].
func (s *Service) ReplaceProfile(ctx context.Context, teacher, id uuid.UUID, in ProfileInput) (Profile, error) {
	p, err := s.profile(ctx, teacher, in)
	if err != nil {
		return Profile{}, err
	}
	p.ID = id
	return s.store.ReplaceProfile(ctx, p)
}

// profile validates the input and applies the teacher's defaults. It fails if the teacher may store
// no more text.
func (s *Service) profile(ctx context.Context, teacher uuid.UUID, in ProfileInput) (Profile, error) {
	if err := s.checkText(ctx, teacher); err != nil {
		return Profile{}, err
	}
	d, err := s.Defaults(ctx, teacher)
	if err != nil {
		return Profile{}, err
	}
	var v validator
	v.key(in.IdempotencyKey)
	year := orDefault(in.AcademicYear, s.cfg.Now().Year())
	p := Profile{
		TeacherID:     teacher,
		Name:          v.name("name", in.Name),
		Grade:         v.line("grade", orDefault(in.Grade, d.Grade)),
		Subject:       v.line("subject", orDefault(in.Subject, d.Subject)),
		AcademicYear:  v.between("academic_year", year, minAcademicYear, maxAcademicYear),
		Term:          v.line("term", in.Term),
		GuardianTitle: v.line("guardian_title", in.GuardianTitle),
		StartTime:     v.timeOfDay("start_time", in.StartTime),
		UpdatedAt:     s.now(),
	}
	if in.EndTime != nil {
		p.EndTime = v.timeOfDay("end_time", *in.EndTime)
		if p.StartTime != "" && p.EndTime != "" && p.EndTime <= p.StartTime {
			v.fail("end_time", "must be after start_time (%s)", p.StartTime).Code = "not_after_start"
		}
	} else {
		p.EndTime = addMinutes(p.StartTime, d.LessonDurationMinutes)
	}
	return p, v.err()
}

// Profile returns one profile. Errors: [ErrNotFound].
func (s *Service) Profile(ctx context.Context, teacher, id uuid.UUID) (Profile, error) {
	return s.store.Profile(ctx, teacher, id)
}

// Profiles lists profiles ordered by name. Errors: [ErrInvalid].
func (s *Service) Profiles(ctx context.Context, teacher uuid.UUID, f ProfileFilter, p Page) (List[Profile], error) {
	limit, c, err := p.parse("profiles", 1)
	if err != nil {
		return List[Profile]{}, err
	}
	var v validator
	v.line("query", f.Query) // SQLite limits the length of patterns
	v.line("grade", f.Grade)
	v.line("subject", f.Subject)
	if err := v.err(); err != nil {
		return List[Profile]{}, err
	}
	var after *ProfileKey
	if c != nil {
		after = &ProfileKey{Name: c.Key[0], ID: c.ID}
	}
	items, more, err := s.store.Profiles(ctx, teacher, f, after, limit)
	if err != nil {
		return List[Profile]{}, err
	}
	return listOf(items, more, func(p Profile) cursor {
		return cursor{List: "profiles", Key: []string{p.Name}, ID: p.ID}
	}), nil
}

// DeleteProfile deletes a profile with its records, sessions, lessons and segments; durable tasks
// delete the recordings. Errors: [ErrNotFound].
func (s *Service) DeleteProfile(ctx context.Context, teacher, id uuid.UUID) error {
	return s.store.DeleteProfile(ctx, teacher, id)
}

// Defaults returns the defaults that the teacher has saved, or else [Config.Defaults].
func (s *Service) Defaults(ctx context.Context, teacher uuid.UUID) (Defaults, error) {
	d, err := s.store.Defaults(ctx, teacher)
	switch {
	case !errors.Is(err, ErrNotFound):
		return d, err
	case s.cfg.Defaults != (Defaults{}):
		return s.cfg.Defaults, nil
	case ctx.Value(chineseKey{}) != nil:
		return Defaults{Grade: "美术班", Subject: "美术", LessonDurationMinutes: 90}, nil
	}
	return Defaults{Grade: "Art class", Subject: "Art", LessonDurationMinutes: 90}, nil
}

type chineseKey struct{}

// WithChinese returns a context of a teacher who reads Chinese: what the service names by itself,
// as in [Service.Defaults], is in that language.
func WithChinese(ctx context.Context) context.Context {
	return context.WithValue(ctx, chineseKey{}, true)
}

// SaveDefaults saves the teacher's defaults. Errors: [ErrInvalid].
func (s *Service) SaveDefaults(ctx context.Context, teacher uuid.UUID, d Defaults) error {
	if err := d.validate(); err != nil {
		return err
	}
	if err := s.checkText(ctx, teacher); err != nil {
		return err
	}
	return s.store.SaveDefaults(ctx, teacher, d, s.now())
}
