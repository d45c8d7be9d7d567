package feedbackhttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"golang.org/x/text/language"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/httpapi"
)

type teacherKey struct{}

// requireTeacher is the middleware of all operations: without a database it answers 503, without a
// teacher what authError returns, and 429 to a teacher with too many requests.
func (s *server) requireTeacher(ctx huma.Context, next func(huma.Context)) {
	if s.svc == nil {
		httpapi.Refuse(s.api, ctx, httpapi.Error(http.StatusServiceUnavailable, "database_not_configured",
			"no database is configured on this server").WithRetryAfter(time.Minute))
		return
	}
	teacher, err := s.authenticate(ctx.Context(), httpapi.Header(ctx))
	if err != nil {
		httpapi.Refuse(s.api, ctx, authError(err))
		return
	}
	annotate(ctx.Context(), "teacher_id", teacher)
	leave, err := s.enter(ctx, teacher)
	if err != nil {
		httpapi.Refuse(s.api, ctx, err)
		return
	}
	defer leave()
	if _, i := language.MatchStrings(languages, ctx.Header("Accept-Language")); i == 1 {
		ctx = huma.WithContext(ctx, feedback.WithChinese(ctx.Context()))
	}
	next(huma.WithValue(ctx, teacherKey{}, teacher))
}

var languages = language.NewMatcher([]language.Tag{language.English, language.Chinese})

// annotate adds an identifier, unless it is zero, to the request's line in the log. Those in the
// path are there already.
func annotate(ctx context.Context, name string, id uuid.UUID) {
	if id != uuid.Nil {
		httpapi.Annotate(ctx, slog.String(name, id.String()))
	}
}

var errNobody = errors.New("feedbackhttp: Authenticate returned the zero UUID")

// authError turns an error of Config.Authenticate into an answer.
func authError(err error) error {
	if _, ok := errors.AsType[huma.StatusError](err); ok {
		return err
	}
	if !isTemporary(err) {
		p := httpapi.Error(http.StatusUnauthorized, "unauthorized",
			"sign in and send the session token as a bearer token").WithHeader("WWW-Authenticate", "Bearer")
		if err == errNobody {
			p.WithCause(err) // a mistake of the program, perhaps
		}
		return p
	}
	p := httpapi.Error(http.StatusServiceUnavailable, "sign_in_unavailable",
		"sign-in cannot be checked at the moment").WithCause(err)
	var later interface{ RetryAfter() time.Duration }
	if errors.As(err, &later) {
		p.WithRetryAfter(later.RetryAfter())
	}
	return p
}

// isTemporary reports whether err says nothing about the caller's credentials.
func isTemporary(err error) bool {
	var e interface{ Permanent() bool }
	return errors.As(err, &e) && !e.Permanent()
}

// teacher returns the teacher that requireTeacher identified.
func teacher(ctx context.Context) uuid.UUID {
	id, ok := ctx.Value(teacherKey{}).(uuid.UUID)
	if !ok {
		panic("feedbackhttp: operation without requireTeacher")
	}
	return id
}
