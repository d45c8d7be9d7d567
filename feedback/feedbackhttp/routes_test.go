package feedbackhttp_test

import (
	"encoding/json"
	"sort"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/internal/httpapi/apitest"
)

// route is an operation of the document.
type route struct{ id, method, path string }

func routes(t testing.TB) (out []route) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	require.NoError(t, json.Unmarshal(document(t), &doc))
	for path, methods := range doc.Paths {
		for method, op := range methods {
			out = append(out, route{op.OperationID, strings.ToUpper(method), strings.TrimPrefix(path, "/api/v1")})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// TestWithoutDatabaseEveryRouteAnswers503: signed in or not, with any body.
func TestWithoutDatabaseEveryRouteAnswers503(t *testing.T) {
	t.Parallel()
	e := &env{t: t, handler: feedbackhttp.Handler(feedbackhttp.Config{Authenticate: teacherOf}), teacher: uuid.New(),
		document: apitest.Parse(t, document(t))}
	for _, r := range routes(t) {
		for _, who := range []string{uuid.NewString(), "nobody"} {
			for _, body := range []any{nil, object{}, "{broken"} {
				path := strings.NewReplacer("{profile_id}", "x", "{record_id}", uuid.NewString(), "{session_id}", "x",
					"{lesson_id}", "x", "{segment_id}", "x").Replace(r.path)
				a := e.do(r.method, path, body, "X-Teacher", who).want(503, "database_not_configured")
				require.NotEmpty(t, a.Header().Get("Retry-After"), r.id)
			}
		}
	}
}

// TestNotMigratedIs503: a server may start before its tables are created.
func TestNotMigratedIs503(t *testing.T) {
	engines(t, func(t *testing.T, e *env) {
		_, err := e.db.Exec(`drop table feedback_defaults`)
		require.NoError(t, err)
		a := e.do("GET", "/profile-defaults", nil).want(503, "database_unavailable")
		require.NotEmpty(t, a.Header().Get("Retry-After"))
	})
}

// TestSecondTeacherReachesNothing goes over every route with the first
// teacher's identifiers, and then looks whether anything has changed.
func TestSecondTeacherReachesNothing(t *testing.T) {
	engines(t, func(t *testing.T, e *env) {
		profile := e.profile("Ming")
		session := e.session(profile)
		lesson := e.lesson(session)
		segment := e.upload(lesson, recording("x")).want(202).str("segment_id")
		e.speech.fail(fault{permanent: true})
		e.work()
		record := e.do("POST", "/feedback-records", object{"profile_id": profile, "feedback_date": "2026-05-31",
			"content": "secret"}).want(201).str("record_id")
		look := func() (out []string) {
			for _, path := range []string{"/profiles", "/feedback-records", "/profile-defaults", "/words",
				"/feedback-sessions/" + session, "/audio-segments/" + segment, "/audio-segments/" + segment +
					"/audio"} {
				out = append(out, e.do("GET", path, nil).want(200).Body.String())
			}
			return out
		}
		before, first, second := look(), e.teacher, uuid.New()

		ids := strings.NewReplacer("{profile_id}", profile, "{record_id}", record, "{session_id}", session,
			"{lesson_id}", lesson, "{segment_id}", segment)
		unknown := strings.NewReplacer("{profile_id}", uuid.NewString(), "{record_id}", uuid.NewString(),
			"{session_id}", uuid.NewString(), "{lesson_id}", uuid.NewString(), "{segment_id}", uuid.NewString())
		bodies := map[string]any{
			"create-profile": object{"name": "Li"}, "replace-profile": object{"name": "stolen"},
			"save-profile-defaults": object{"grade": "x", "subject": "x", "lesson_duration_minutes": 1},
			"save-words":            object{"words": []string{"Li"}},
			"create-record": object{"profile_id": profile, "feedback_date": "2026-05-31", "content": "x",
				"feedback_session_id": session},
			"open-session": object{"profile_id": profile}, "save-session": object{"feedback_text": "stolen"},
			"save-record":       object{"feedback_date": "2026-05-31", "content": "stolen"},
			"report":            object{"academic_year": 2026},
			"save-segment-text": object{"text": "stolen"},
			"generate-feedback": object{"lesson_ids": []string{lesson}},
		}
		statuses := map[string]int{ // of routes without an identifier in the path
			"list-profiles": 200, "list-records": 200, "get-profile-defaults": 200, "save-profile-defaults": 200,
			"create-profile": 201, "get-words": 200, "save-words": 200, "export": 200,
			"create-record": 422, "open-session": 422, "get-active-session": 404,
		}
		e.teacher = second
		for _, r := range routes(t) {
			want, ok := statuses[r.id]
			if !ok {
				require.Contains(t, r.path, "{", r.id)
				want = 404
			}
			query := map[string]string{"get-active-session": "?profile_id=" + profile, "list-records": "?profile_id=" +
				profile}[r.id]
			var a answer
			if r.id == "upload-segment" {
				a = e.upload(lesson, recording("stolen"))
			} else {
				a = e.do(r.method, ids.Replace(r.path)+query, bodies[r.id])
			}
			require.Equal(t, want, a.Code, "%s: %s", r.id, a.Body)
			for _, secret := range []string{"Ming", "secret", segment, record} {
				if !strings.Contains(r.path, "{") {
					require.NotContains(t, a.Body.String(), secret, r.id)
				}
			}
			if strings.Contains(r.path, "{") && r.id != "upload-segment" {
				other := e.do(r.method, unknown.Replace(r.path), bodies[r.id])
				require.Equal(t, a.Code, other.Code, "%s tells a foreign identifier from an unknown one", r.id)
			}
		}
		e.teacher = first
		require.Equal(t, before, look())
	})
}
