package feedbackhttp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/httpapi"
)

// answers are the statuses and codes of the kinds of errors.
var answers = []struct {
	kind   error
	status int
	code   string
}{
	{feedback.ErrNotFound, http.StatusNotFound, "not_found"},
	{feedback.ErrNoActiveSession, http.StatusNotFound, "no_active_session"},
	{feedback.ErrSessionCompleted, http.StatusConflict, "session_completed"},
	{feedback.ErrLessonInProgress, http.StatusConflict, "lesson_in_progress"},
	{feedback.ErrSequenceTaken, http.StatusConflict, "sequence_taken"},
	{feedback.ErrInProgress, http.StatusConflict, "segment_in_progress"},
	{feedback.ErrAudioDeleted, http.StatusConflict, "recording_deleted"},
	{feedback.ErrNothingTranscribed, http.StatusConflict, "nothing_transcribed"},
	{feedback.ErrNothingToReport, http.StatusUnprocessableEntity, "nothing_to_report"},
	{feedback.ErrKeyReused, http.StatusConflict, "idempotency_key_reused"},
	{feedback.ErrStale, http.StatusPreconditionFailed, "stale_version"},
	{feedback.ErrAudioTooLarge, http.StatusRequestEntityTooLarge, "audio_too_large"},
	{feedback.ErrAudioType, http.StatusUnsupportedMediaType, "not_audio"},
	{feedback.ErrUpload, http.StatusBadRequest, "upload_broken_off"},
	{feedback.ErrLimit, http.StatusTooManyRequests, "daily_limit_reached"},
	{feedback.ErrStorageFull, http.StatusInsufficientStorage, "storage_full"},
	{feedback.ErrSummary, http.StatusBadGateway, "summary_failed"},
	{feedback.ErrNoOutbox, http.StatusNotImplemented, "recordings_not_supported"},
	{feedback.ErrUnavailable, http.StatusServiceUnavailable, "database_unavailable"},
	{feedback.ErrStorage, http.StatusServiceUnavailable, "storage_unavailable"},
}

// problem converts an error of the service to an answer. in is where the fields are: "body",
// "path" or "query".
func problem(in string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*feedback.Error](err)
	if !ok { // a store of the program's own may return a kind as it is
		e = &feedback.Error{Err: err}
	}
	switch {
	case errors.Is(err, feedback.ErrInvalid):
		message := cmp.Or(e.Message, "some fields are invalid")
		p := httpapi.Error(http.StatusUnprocessableEntity, "invalid_fields", message)
		for _, f := range e.Fields {
			p.Errors = append(p.Errors, httpapi.FieldError{Location: in + "." + f.Field, Message: f.Message,
				Code: f.Code, Limit: f.Limit, Line: f.Line})
		}
		return p
	case errors.Is(err, feedback.ErrAudioEmpty):
		message := cmp.Or(e.Message, "the recording is empty")
		return httpapi.Error(http.StatusUnprocessableEntity, "audio_empty", message).
			WithField("body.file", "must not be empty")
	}
	for _, a := range answers {
		if !errors.Is(err, a.kind) {
			continue
		}
		if !ok {
			e.Kind = a.kind
		}
		p := httpapi.Error(a.status, a.code, cmp.Or(e.Message, a.kind.Error())).WithCause(e.Err)
		if after := e.RetryAfter(); after > 0 {
			p.WithRetryAfter(after)
		}
		if e.LessonID != uuid.Nil {
			p.LessonID = e.LessonID.String()
		}
		return p
	}
	if errors.Is(err, context.Canceled) {
		// The client has gone away; nobody reads this.
		return httpapi.Error(http.StatusServiceUnavailable, "canceled", "the request was canceled").
			WithRetryAfter(time.Second)
	}
	return httpapi.Internal(err)
}
