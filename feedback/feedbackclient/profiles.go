package feedbackclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// Profile is a student.
type Profile struct {
	ID            string    `json:"profile_id"`
	Name          string    `json:"name"`
	Grade         string    `json:"grade"`
	Subject       string    `json:"subject"`
	AcademicYear  int       `json:"academic_year"`
	Term          string    `json:"term"`
	GuardianTitle string    `json:"guardian_title"`
	StartTime     string    `json:"start_time"`         // HH:MM or ""
	EndTime       string    `json:"end_time"`           // HH:MM or ""
	LastDate      string    `json:"last_feedback_date"` // YYYY-MM-DD of the newest record, or ""; only in lists
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
}

// ProfileInput holds the fields of a profile. Only the name is required; nil fields take the
// teacher's defaults.
type ProfileInput struct {
	Name          string  `json:"name"`
	Grade         *string `json:"grade,omitempty"`
	Subject       *string `json:"subject,omitempty"`
	AcademicYear  *int    `json:"academic_year,omitempty"`
	Term          string  `json:"term,omitempty"`
	GuardianTitle string  `json:"guardian_title,omitempty"`
	StartTime     string  `json:"start_time,omitempty"` // HH:MM or ""
	EndTime       *string `json:"end_time,omitempty"`

	// IdempotencyKey names the request to create a profile: however often it is sent within a day,
	// it creates one. If "", the call has a key of its own.
	IdempotencyKey string `json:"-"`
}

// ProfileFilter selects profiles. All conditions must hold; "" is no condition.
type ProfileFilter struct {
	Query   string // is part of the name, ignoring case and width
	Grade   string // equals exactly
	Subject string // equals exactly
}

// Defaults are the default values of new profiles, and the form of texts for families.
type Defaults struct {
	Grade                 string `json:"grade"`
	Subject               string `json:"subject"`
	LessonDurationMinutes int    `json:"lesson_duration_minutes"`
	// Language is the language of recordings, such as "en"; "" leaves it to the server.
	Language string `json:"language"`
	// MessageTemplate is the message to the guardian around a feedback text, with placeholders such
	// as {text}; "" means a letter in the language of the text.
	MessageTemplate string `json:"message_template"`
	// SummaryInstructions are wishes for tone and form of generated texts.
	SummaryInstructions string `json:"summary_instructions"`
}

// Profiles lists profiles by name. It ends after its first error.
func (c Client) Profiles(ctx context.Context, f ProfileFilter) iter.Seq2[Profile, error] {
	filter := map[string]string{"query": f.Query, "grade": f.Grade, "subject": f.Subject}
	return list[Profile](ctx, c, path("/profiles"), filter)
}

// EnsureProfile returns the teacher's profile with this name and creates it if there is none.
func (c Client) EnsureProfile(ctx context.Context, name string) (Profile, error) {
	name = norm.NFC.String(strings.TrimSpace(name)) // of a file on macOS, é may be two characters
	for p, err := range c.Profiles(ctx, ProfileFilter{Query: name}) {
		if err != nil || strings.EqualFold(norm.NFC.String(p.Name), name) {
			return p, err
		}
	}
	return c.CreateProfile(ctx, ProfileInput{Name: name})
}

// CreateProfile creates a profile.
func (c Client) CreateProfile(ctx context.Context, in ProfileInput) (p Profile, err error) {
	r := jsonRequest(http.MethodPost, path("/profiles"), in)
	r.header.Set("Idempotency-Key", cmp.Or(in.IdempotencyKey, rand.Text()))
	r.repeatable = true
	return p, c.decode(ctx, r, &p)
}

// Profile returns one profile.
func (c Client) Profile(ctx context.Context, id string) (p Profile, err error) {
	return p, c.Call(ctx, http.MethodGet, path("/profiles/%s", id), nil, &p)
}

// ReplaceProfile replaces all fields of a profile.
func (c Client) ReplaceProfile(ctx context.Context, id string, in ProfileInput) (p Profile, err error) {
	return p, c.Call(ctx, http.MethodPut, path("/profiles/%s", id), in, &p)
}

// DeleteProfile deletes a profile with its records, sessions and recordings.
func (c Client) DeleteProfile(ctx context.Context, id string) error {
	return c.Call(ctx, http.MethodDelete, path("/profiles/%s", id), nil, nil)
}

// Defaults returns the defaults of new profiles.
func (c Client) Defaults(ctx context.Context) (d Defaults, err error) {
	return d, c.Call(ctx, http.MethodGet, path("/profile-defaults"), nil, &d)
}

// SaveDefaults saves the defaults of new profiles and returns them.
func (c Client) SaveDefaults(ctx context.Context, d Defaults) (saved Defaults, err error) {
	return saved, c.Call(ctx, http.MethodPut, path("/profile-defaults"), d, &saved)
}

// words are names and terms that transcribers should expect.
type words struct {
	Words []string `json:"words"`
}

// Words returns the names and terms to expect in the teacher's recordings, most recently used
// first.
func (c Client) Words(ctx context.Context) ([]string, error) {
	var w words
	err := c.Call(ctx, http.MethodGet, path("/words"), nil, &w)
	return w.Words, err
}

// SaveWords replaces the names and terms to expect, of which there are at most 200, and returns
// them.
func (c Client) SaveWords(ctx context.Context, list []string) ([]string, error) {
	var saved words
	err := c.Call(ctx, http.MethodPut, path("/words"), words{append([]string{}, list...)}, &saved)
	return saved.Words, err
}
