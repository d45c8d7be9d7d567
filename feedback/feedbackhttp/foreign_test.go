package feedbackhttp_test

import (
	"net/http"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackhttp"
)

// TestRegisterOnSomebodyElsesAPI uses Huma as it comes, with another prefix
// and no wrapper around it.
func TestRegisterOnSomebodyElsesAPI(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("school", "1"))
	feedbackhttp.Register(huma.NewGroup(api, "/api/v1"),
		feedbackhttp.Config{Service: e.svc, Authenticate: teacherOf})
	e.handler, e.document = mux, nil
	session := e.session(e.profile("Ming"))
	lesson := e.lesson(session)
	segment := e.upload(lesson, recording("0123")).want(202).str("segment_id")
	require.Equal(t, "01", e.do("GET", "/audio-segments/"+segment+"/audio", nil, "Range",
		"bytes=6-7").want(206).Body.String())
	e.do("GET", "/profiles/"+uuid.NewString(), nil).want(404, "not_found")
	mux.HandleFunc("POST /api/v1/own", func(w http.ResponseWriter, r *http.Request) {
		_, err := e.svc.StartLesson(r.Context(), e.teacher, uuid.MustParse(session))
		feedbackhttp.WriteError(w, r, feedbackhttp.Problem("path", err))
	})
	own := e.do("POST", "/own", nil).want(409, "lesson_in_progress")
	require.Equal(t, lesson, own.str("lesson_id"))
	e.do("GET", "/profiles", nil, "X-Teacher", "nobody").want(401, "unauthorized")
}
