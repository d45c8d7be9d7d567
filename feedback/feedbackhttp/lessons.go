package feedbackhttp

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

const lessonsTag = "Lessons"

// finishedLesson is a lesson with the number of its segments by state.
type finishedLesson struct {
	wire.FeedbackLesson
	Summary wire.SegmentCounts `json:"summary"`
}

func finishedLessonOf(l feedback.Lesson) finishedLesson {
	return finishedLesson{wire.LessonOf(l), wire.SegmentCounts(l.Counts)}
}

type lessonPath struct {
	ID wire.ID `path:"lesson_id"`
}

func (s *server) registerLessons(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/feedback-sessions/{session_id}/lessons",
		OperationID: "start-lesson", Tags: []string{lessonsTag}, Summary: "Start the next lesson",
		Description: "While a lesson is recording: 409 with its lesson_id, so that an app restarted during a lesson " +
			"can continue it.",
		DefaultStatus: http.StatusCreated,
		Errors:        []int{http.StatusNotFound, http.StatusConflict, http.StatusInsufficientStorage},
	}), func(ctx context.Context, in *sessionPath) (*output[wire.FeedbackLesson], error) {
		l, err := s.svc.StartLesson(ctx, teacher(ctx), in.ID.UUID)
		annotate(ctx, "lesson_id", l.ID)
		return &output[wire.FeedbackLesson]{wire.LessonOf(l)}, problem("path", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/feedback-lessons/{lesson_id}/finish", OperationID: "finish-lesson",
		Tags: []string{lessonsTag}, Summary: "Finish a lesson",
		Description: "And count its segments by state. A finished lesson is answered with fresh counts.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *lessonPath) (*output[finishedLesson], error) {
		l, err := s.svc.FinishLesson(ctx, teacher(ctx), in.ID.UUID)
		return &output[finishedLesson]{finishedLessonOf(l)}, problem("path", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/feedback-lessons/{lesson_id}/mark-applied",
		OperationID: "mark-lesson-applied", Tags: []string{lessonsTag}, Summary: "Mark a lesson's text as applied",
		Description: "It is in the feedback already, so summaries omit it.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *lessonPath) (*output[wire.FeedbackLesson], error) {
		l, err := s.svc.MarkApplied(ctx, teacher(ctx), in.ID.UUID)
		return &output[wire.FeedbackLesson]{wire.LessonOf(l)}, problem("path", err)
	})
}
