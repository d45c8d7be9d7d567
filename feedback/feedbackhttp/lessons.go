package feedbackhttp

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
)

const lessonsTag = "Lessons"

type lessonOutput struct{ Body FeedbackLesson }

// finishedLesson is a lesson with the states of its segments.
type finishedLesson struct {
	FeedbackLesson
	Summary segmentCounts `json:"summary"`
}

type lessonPath struct {
	ID uuid.UUID `path:"lesson_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
}

func (s *server) registerLessons(api huma.API) {
	start := s.operation(http.MethodPost, "/feedback-sessions/{session_id}/lessons", "start-lesson", lessonsTag, "Start the next lesson",
		"While one is still recording: 409 with its lesson_id, so that an app restarted mid-lesson finds its way back.",
		http.StatusCreated, http.StatusNotFound)
	start.Responses = map[string]*huma.Response{"409": {Description: "A lesson is still recording, or the session is completed", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: schemaOf[lessonProblem](api)}}}}
	huma.Register(api, start,
		func(ctx context.Context, in *SessionPath) (*lessonOutput, error) {
			l, err := s.svc.StartLesson(ctx, teacher(ctx), in.ID)
			return &lessonOutput{lessonOut(l)}, problem("path", err)
		})
	huma.Register(api, s.operation(http.MethodPost, "/feedback-lessons/{lesson_id}/finish", "finish-lesson", lessonsTag, "Finish a lesson",
		"And count its segments by state. Again: the same, with fresh counts.", http.StatusOK, http.StatusNotFound),
		func(ctx context.Context, in *lessonPath) (*struct{ Body finishedLesson }, error) {
			l, err := s.svc.FinishLesson(ctx, teacher(ctx), in.ID)
			return &struct{ Body finishedLesson }{finishedLesson{lessonOut(l), countsOut(l.Counts())}}, problem("path", err)
		})
	huma.Register(api, s.operation(http.MethodPost, "/feedback-lessons/{lesson_id}/mark-applied", "mark-lesson-applied", lessonsTag, "Mark a lesson's text as applied",
		"It is in the feedback already, so summaries leave it out.", http.StatusOK, http.StatusNotFound),
		func(ctx context.Context, in *lessonPath) (*lessonOutput, error) {
			l, err := s.svc.MarkApplied(ctx, teacher(ctx), in.ID)
			return &lessonOutput{lessonOut(l)}, problem("path", err)
		})
}
