package feedbackhttp

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

const profilesTag = "Profiles"

// studentProfile is a profile as it is answered.
type studentProfile struct {
	ProfileID     uuid.UUID `json:"profile_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	Name          string    `json:"name" example:"Ming"`
	Grade         string    `json:"grade" example:"Art class"`
	Subject       string    `json:"subject" example:"Art"`
	AcademicYear  int       `json:"academic_year" example:"2026"`
	Term          string    `json:"term" example:"spring"`
	GuardianTitle string    `json:"guardian_title" example:"Ming's mother"`
	StartTime     string    `json:"start_time" example:"09:00"`
	EndTime       string    `json:"end_time" example:"10:30"`
	CreatedAt     time.Time `json:"created_at" example:"2026-05-31T09:00:00Z"`
	UpdatedAt     time.Time `json:"updated_at" example:"2026-05-31T09:00:00Z"`
}

func profileOut(p feedback.Profile) studentProfile {
	return studentProfile{
		ProfileID: p.ID, Name: p.Name, Grade: p.Grade, Subject: p.Subject, AcademicYear: p.AcademicYear, Term: p.Term,
		GuardianTitle: p.GuardianTitle, StartTime: p.StartTime, EndTime: p.EndTime, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

// profileFields is a profile as it is sent.
type profileFields struct {
	Name          string  `json:"name" minLength:"1" doc:"1 to 100 characters after trimming." example:"Ming"`
	Grade         *string `json:"grade,omitempty" maxLength:"100" doc:"Defaults to the teacher's default." example:"Art class"`
	Subject       *string `json:"subject,omitempty" maxLength:"100" doc:"Defaults to the teacher's default." example:"Art"`
	AcademicYear  *int    `json:"academic_year,omitempty" minimum:"1900" maximum:"2200" doc:"Defaults to the current year." example:"2026"`
	Term          string  `json:"term,omitempty" maxLength:"100" example:"spring"`
	GuardianTitle string  `json:"guardian_title,omitempty" maxLength:"100" doc:"How the guardian is addressed." example:"Ming's mother"`
	StartTime     string  `json:"start_time,omitempty" pattern:"^(([01][0-9]|2[0-3]):[0-5][0-9])?$" patternDescription:"HH:MM or empty" example:"09:00"`
	EndTime       *string `json:"end_time,omitempty" pattern:"^(([01][0-9]|2[0-3]):[0-5][0-9])?$" patternDescription:"HH:MM or empty" doc:"Defaults to start_time plus the default lesson duration, on the same day." example:"10:30"`
}

func (p profileFields) input() feedback.ProfileInput { return feedback.ProfileInput(p) }

type profileOutput struct{ Body studentProfile }

// ProfilePath names a profile in a path. It is exported for Huma, which does not look into other embedded types.
type ProfilePath struct {
	ID uuid.UUID `path:"profile_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
}

type profileList struct {
	Items      []studentProfile `json:"items" nullable:"false"`
	NextCursor *string          `json:"next_cursor" example:"eyJsIjoi" doc:"Where the next page begins; null on the last one."`
}

func (s *server) registerProfiles(api huma.API) {
	huma.Register(api, s.operation(http.MethodGet, "/profiles", "list-profiles", profilesTag, "List profiles",
		"By name. The conditions combine.", http.StatusOK),
		func(ctx context.Context, in *struct {
			Page
			Query   string `query:"query" maxLength:"100" example:"min" doc:"Occurs in the name, whatever the case."`
			Grade   string `query:"grade" maxLength:"100" example:"Art class" doc:"Equals the grade."`
			Subject string `query:"subject" maxLength:"100" example:"Art" doc:"Equals the subject."`
		}) (*struct{ Body profileList }, error) {
			f := feedback.ProfileFilter{Query: in.Query, Grade: in.Grade, Subject: in.Subject}
			list, err := s.svc.Profiles(ctx, teacher(ctx), f, in.Page.page())
			return &struct{ Body profileList }{profileList{mapped(list.Items, profileOut), nextCursor(list.NextCursor)}}, problem("query", err)
		})
	huma.Register(api, s.operation(http.MethodPost, "/profiles", "create-profile", profilesTag, "Create a profile",
		"Only the name is required.", http.StatusCreated, jsonBody...),
		func(ctx context.Context, in *struct{ Body profileFields }) (*profileOutput, error) {
			p, err := s.svc.CreateProfile(ctx, teacher(ctx), in.Body.input())
			return &profileOutput{profileOut(p)}, problem("body", err)
		})
	huma.Register(api, s.operation(http.MethodGet, "/profiles/{profile_id}", "get-profile", profilesTag, "Read a profile",
		"One student of yours.", http.StatusOK, http.StatusNotFound),
		func(ctx context.Context, in *ProfilePath) (*profileOutput, error) {
			p, err := s.svc.Profile(ctx, teacher(ctx), in.ID)
			return &profileOutput{profileOut(p)}, problem("path", err)
		})
	huma.Register(api, s.operation(http.MethodPut, "/profiles/{profile_id}", "replace-profile", profilesTag, "Replace a profile",
		"By the same rules as creating one: what is left out takes its default.", http.StatusOK, slices.Concat(jsonBody, []int{http.StatusNotFound})...),
		func(ctx context.Context, in *struct {
			ProfilePath
			Body profileFields
		}) (*profileOutput, error) {
			p, err := s.svc.ReplaceProfile(ctx, teacher(ctx), in.ID, in.Body.input())
			return &profileOutput{profileOut(p)}, problem("body", err)
		})
	huma.Register(api, s.operation(http.MethodDelete, "/profiles/{profile_id}", "delete-profile", profilesTag, "Delete a profile",
		"Its records, sessions, lessons, segments and their recordings go with it.", http.StatusNoContent, http.StatusNotFound),
		func(ctx context.Context, in *ProfilePath) (*struct{}, error) {
			return nil, problem("path", s.svc.DeleteProfile(ctx, teacher(ctx), in.ID))
		})
}

// profileDefaults is what new profiles start from.
type profileDefaults struct {
	Grade                 string `json:"grade" maxLength:"100" example:"Art class"`
	Subject               string `json:"subject" maxLength:"100" example:"Art"`
	LessonDurationMinutes int    `json:"lesson_duration_minutes" minimum:"1" maximum:"600" example:"90"`
}

type defaultsOutput struct{ Body profileDefaults }

func (s *server) registerDefaults(api huma.API) {
	huma.Register(api, s.operation(http.MethodGet, "/profile-defaults", "get-profile-defaults", profilesTag, "Read the defaults of new profiles",
		"An art class where nothing was saved.", http.StatusOK),
		func(ctx context.Context, _ *struct{}) (*defaultsOutput, error) {
			d, err := s.svc.Defaults(ctx, teacher(ctx))
			return &defaultsOutput{profileDefaults(d)}, problem("query", err)
		})
	huma.Register(api, s.operation(http.MethodPut, "/profile-defaults", "save-profile-defaults", profilesTag, "Save the defaults of new profiles",
		"All three fields are needed.", http.StatusOK, jsonBody...),
		func(ctx context.Context, in *struct{ Body profileDefaults }) (*defaultsOutput, error) {
			err := s.svc.SaveDefaults(ctx, teacher(ctx), feedback.Defaults(in.Body))
			return &defaultsOutput{in.Body}, problem("body", err)
		})
}
