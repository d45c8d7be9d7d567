package feedbackhttp

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

const profilesTag = "Profiles"

type studentProfile struct {
	ProfileID     wire.ID   `json:"profile_id"`
	Name          string    `json:"name" example:"Ming"`
	Grade         string    `json:"grade" example:"Art class"`
	Subject       string    `json:"subject" example:"Art"`
	AcademicYear  int       `json:"academic_year" example:"2026"`
	Term          string    `json:"term" example:"spring"`
	GuardianTitle string    `json:"guardian_title" example:"Ming's mother"`
	StartTime     string    `json:"start_time" example:"09:00"`
	EndTime       string    `json:"end_time" example:"10:30"`
	LastDate      string    `json:"last_feedback_date,omitempty" example:"2026-05-31" doc:"In lists; none: absent."`
	CreatedAt     time.Time `json:"created_at" example:"2026-05-31T09:00:00Z"`
	UpdatedAt     time.Time `json:"updated_at" example:"2026-05-31T09:00:00Z"`
}

func profileOut(p feedback.Profile) studentProfile {
	return studentProfile{
		ProfileID: wire.ID{UUID: p.ID}, Name: p.Name, Grade: p.Grade, Subject: p.Subject,
		AcademicYear: p.AcademicYear, Term: p.Term,
		GuardianTitle: p.GuardianTitle, StartTime: p.StartTime, EndTime: p.EndTime,
		LastDate: p.LastDate, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

// profileReplacement is a profile in a PUT, which may repeat what was read.
type profileReplacement struct {
	wire.ProfileFields
	ProfileID *string `json:"profile_id,omitempty" readOnly:"true" doc:"Read-only."`
	LastDate  *string `json:"last_feedback_date,omitempty" readOnly:"true" doc:"Read-only; any value is accepted."`
	CreatedAt *string `json:"created_at,omitempty" readOnly:"true" doc:"Read-only."`
	UpdatedAt *string `json:"updated_at,omitempty" readOnly:"true" doc:"Read-only."`
}

type profilePath struct {
	ID wire.ID `path:"profile_id"`
}

type profileList list[studentProfile]

func (s *server) registerProfiles(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/profiles", OperationID: "list-profiles",
		Tags: []string{profilesTag}, Summary: "List profiles",
		Description: "By name. The conditions combine.",
	}), func(ctx context.Context, in *struct {
		wire.Page
		Query   string `query:"query" maxLength:"100" doc:"Is part of the name, ignoring case and width."`
		Grade   string `query:"grade" maxLength:"100" doc:"Equals the grade."`
		Subject string `query:"subject" maxLength:"100" doc:"Equals the subject."`
	}) (*output[profileList], error) {
		filter := feedback.ProfileFilter{Query: in.Query, Grade: in.Grade, Subject: in.Subject}
		list, err := s.svc.Profiles(ctx, teacher(ctx), filter, in.Feedback())
		return &output[profileList]{profileList(listOut(list, profileOut))}, problem("query", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/profiles", OperationID: "create-profile",
		Tags: []string{profilesTag}, Summary: "Create a profile",
		Description: "Only the name is required. A request that is repeated with the same Idempotency-Key is " +
			"answered with the profile of the first one; another request with it is refused (409).",
		DefaultStatus: http.StatusCreated,
		Errors:        slices.Concat(jsonBody, []int{http.StatusConflict}),
	}), func(ctx context.Context, in *struct {
		Key  idempotencyKey `header:"Idempotency-Key" doc:"Names the request for a day: a UUID, for example."`
		Body wire.ProfileFields
	}) (*output[studentProfile], error) {
		input := in.Body.Input()
		input.IdempotencyKey = string(in.Key)
		p, err := s.svc.CreateProfile(ctx, teacher(ctx), input)
		annotate(ctx, "profile_id", p.ID)
		return &output[studentProfile]{profileOut(p)}, problem("body", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/profiles/{profile_id}", OperationID: "get-profile",
		Tags: []string{profilesTag}, Summary: "Read a profile",
		Description: "One of the teacher's students.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *profilePath) (*output[studentProfile], error) {
		p, err := s.svc.Profile(ctx, teacher(ctx), in.ID.UUID)
		return &output[studentProfile]{profileOut(p)}, problem("path", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPut, Path: "/profiles/{profile_id}", OperationID: "replace-profile",
		Tags: []string{profilesTag}, Summary: "Replace a profile",
		Description: "By the same rules as creating one: omitted fields take their defaults. Read-only fields may " +
			"be sent back as they were read.",
		Errors: slices.Concat(jsonBody, []int{http.StatusNotFound}),
	}), func(ctx context.Context, in *struct {
		ID   wire.ID `path:"profile_id"`
		Body profileReplacement
	}) (*output[studentProfile], error) {
		read := func() (studentProfile, error) {
			p, err := s.svc.Profile(ctx, teacher(ctx), in.ID.UUID)
			return profileOut(p), err
		}
		if err := checkReadOnly(in.Body, read, "profile_id", "created_at", "updated_at"); err != nil {
			return nil, err
		}
		p, err := s.svc.ReplaceProfile(ctx, teacher(ctx), in.ID.UUID, in.Body.Input())
		return &output[studentProfile]{profileOut(p)}, problem("body", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodDelete, Path: "/profiles/{profile_id}", OperationID: "delete-profile",
		Tags: []string{profilesTag}, Summary: "Delete a profile",
		Description:   "With its records, sessions, lessons, segments and their recordings.",
		DefaultStatus: http.StatusNoContent,
		Errors:        []int{http.StatusNotFound},
	}), func(ctx context.Context, in *profilePath) (*struct{}, error) {
		return nil, problem("path", s.svc.DeleteProfile(ctx, teacher(ctx), in.ID.UUID))
	})
}

// profileDefaults are the defaults of new profiles and of recordings.
type profileDefaults struct {
	Grade                 string `json:"grade" maxLength:"100" example:"Art class"`
	Subject               string `json:"subject" maxLength:"100" example:"Art"`
	LessonDurationMinutes int    `json:"lesson_duration_minutes" minimum:"1" maximum:"600" example:"90"`

	Language *string `json:"language,omitempty" maxLength:"35" example:"en" doc:"Of recordings; empty: as configured."`

	MessageTemplate *string `json:"message_template,omitempty" maxLength:"2000" example:"Dear parents, {text}"`

	SummaryInstructions *string `json:"summary_instructions,omitempty" maxLength:"2000" example:"Be brief."`
}

// TransformSchema implements [huma.SchemaTransformer].
func (profileDefaults) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return wire.Describe(s, map[string]string{
		"message_template": "The message around a feedback text, for the guardian. It contains {text}, once, and " +
			"may contain {guardian_title}, {name}, {date}, {subject}, {grade} and {term}; what an empty one would " +
			"leave over, such as a comma or a line, is left out. Empty: a letter in the language of the text, " +
			"Chinese or English.",
		"summary_instructions": "What generated texts should be like, in tone and form, where the server uses a " +
			"language model for them.",
	})
}

func defaultsOut(d feedback.Defaults) *output[profileDefaults] {
	return &output[profileDefaults]{profileDefaults{
		Grade: d.Grade, Subject: d.Subject, LessonDurationMinutes: d.LessonDurationMinutes, Language: &d.Language,
		MessageTemplate: &d.MessageTemplate, SummaryInstructions: &d.SummaryInstructions,
	}}
}

func (s *server) registerDefaults(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/profile-defaults", OperationID: "get-profile-defaults",
		Tags: []string{profilesTag}, Summary: "Read the defaults of new profiles",
		Description: "Those of an art class if none were saved: in Chinese or English, as Accept-Language says.",
	}), func(ctx context.Context, _ *struct{}) (*output[profileDefaults], error) {
		d, err := s.svc.Defaults(ctx, teacher(ctx))
		return defaultsOut(d), problem("query", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPut, Path: "/profile-defaults", OperationID: "save-profile-defaults",
		Tags: []string{profilesTag}, Summary: "Save the defaults of new profiles",
		Description: "The grade, the subject and the duration are required. " +
			"Of the other fields, those that are left " +
			"out stay as they were saved.",
		Errors: jsonBody,
	}), func(ctx context.Context, in *struct{ Body profileDefaults }) (*output[profileDefaults], error) {
		d, err := s.svc.Defaults(ctx, teacher(ctx))
		if err != nil {
			return nil, problem("body", err)
		}
		d.Grade, d.Subject, d.LessonDurationMinutes = in.Body.Grade, in.Body.Subject, in.Body.LessonDurationMinutes
		keep := func(saved, sent *string) {
			if sent != nil {
				*saved = *sent
			}
		}
		keep(&d.Language, in.Body.Language)
		keep(&d.MessageTemplate, in.Body.MessageTemplate)
		keep(&d.SummaryInstructions, in.Body.SummaryInstructions)
		return defaultsOut(d), problem("body", s.svc.SaveDefaults(ctx, teacher(ctx), d))
	})
}
