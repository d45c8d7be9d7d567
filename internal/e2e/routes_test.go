//go:build linux

package e2e

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/fleet"
)

// route is an operation of the interface with a request about the owner's data.
type route struct {
	method, template string
	path             string
	secured          bool
	body             any
	contentType      string
}

// routes reads /openapi.json: a new route is tested without being named here, or fails the test if
// it needs a body.
func (s *secured) routes(t *testing.T) (routes []route) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Security    []any
			RequestBody *struct{ Content map[string]any }
			Parameters  []struct {
				Name, In string
				Required bool
			}
		}
	}
	require.NoError(t, s.client.Call(t.Context(), "GET", "/openapi.json", nil, &doc))
	lessons := []string{s.ids["lesson_id"]}
	bodies := map[string]any{
		"POST /api/v1/auth/miniapp/login":   map[string]string{"code": "never issued"},
		"POST /api/v1/auth/device/session":  map[string]string{"device_code": "never issued"},
		"POST /api/v1/auth/device/find":     map[string]string{"code": "BCDFGH"},
		"POST /api/v1/auth/device/confirm":  map[string]string{"code": "BCDFGH"},
		"POST /api/v1/profiles":             map[string]string{"name": "Intruder's"},
		"PUT /api/v1/profiles/{profile_id}": map[string]string{"name": "Renamed"},
		"PUT /api/v1/profile-defaults": map[string]any{"grade": "g", "subject": "s",
			"lesson_duration_minutes": 60},
		"PUT /api/v1/words":                        map[string]any{"words": []string{"Intruder"}},
		"PUT /api/v1/feedback-records/{record_id}": map[string]any{"feedback_date": "2026-05-31", "content": "stolen"},
		"POST /api/v1/feedback-records": map[string]any{"profile_id": s.ids["profile_id"],
			"feedback_date": "2026-03-02", "content": "forged", "feedback_session_id": s.ids["session_id"]},
		"POST /api/v1/feedback-sessions":                       map[string]string{"profile_id": s.ids["profile_id"]},
		"PUT /api/v1/feedback-sessions/{session_id}":           map[string]string{"feedback_text": "overwritten"},
		"POST /api/v1/feedback-sessions/{session_id}/generate": map[string]any{"lesson_ids": lessons},
		"POST /api/v1/feedback-lessons/{lesson_id}/segments":   fleet.NewRecording(),
		"POST /api/v1/feedback-lessons/{lesson_id}/retry":      map[string]string{"language": "en"},
		"POST /api/v1/audio-segments/{segment_id}/retry":       map[string]string{"language": "en"},
		"PUT /api/v1/audio-segments/{segment_id}/text":         map[string]string{"text": "misheard"},
		"POST /api/v1/profiles/{profile_id}/report":            map[string]any{"academic_year": 2026},
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			r := route{method: strings.ToUpper(method), template: path, path: path, secured: len(op.Security) > 0}
			for name, id := range s.ids {
				r.path = strings.ReplaceAll(r.path, "{"+name+"}", id)
			}
			require.NotContains(t, r.path, "{", "a path parameter that this test does not know")
			for _, p := range op.Parameters {
				if p.In == "query" && s.ids[p.Name] != "" {
					r.path += "?" + p.Name + "=" + s.ids[p.Name]
				}
			}
			if op.RequestBody != nil {
				r.body = bodies[r.method+" "+path]
				require.NotNil(t, r.body, "%s %s needs a body that this test does not have", r.method, path)
				if _, raw := r.body.([]byte); raw {
					r.contentType = "audio/wav"
				}
			}
			routes = append(routes, r)
		}
	}
	slices.SortFunc(routes, func(a, b route) int { return strings.Compare(a.template+a.method, b.template+b.method) })
	require.GreaterOrEqual(t, len(routes), 28)
	return routes
}

// state returns all data of the owner, to be compared.
func (s *secured) state(t *testing.T) (all []string) {
	t.Helper()
	for _, path := range []string{
		"/api/v1/profiles", "/api/v1/profile-defaults", "/api/v1/words", "/api/v1/feedback-records",
		"/api/v1/feedback-sessions/" + s.ids["session_id"], "/api/v1/audio-segments/" + s.ids["segment_id"],
		"/api/v1/audio-segments/" + s.ids["segment_id"] + "/audio",
	} {
		a := s.send(t, request{method: "GET", path: path, header: bearer(s.owner)})
		require.Equal(t, http.StatusOK, a.status, path)
		all = append(all, a.body)
	}
	return all
}

// signIn are the operations for callers who are not signed in yet.
var signIn = []string{"/api/v1/auth/miniapp/login", "/api/v1/auth/device", "/api/v1/auth/device/session"}

// Every route, with every way not to be signed in. Package feedbackhttp tests other teachers.
func TestNobodyElseGetsIn(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, url string) {
		s := newSecured(t, url)
		eventually(t, "everything works", func() bool {
			h, err := s.client.Health(t.Context())
			require.NoError(t, err)
			return h.Status == "ok"
		})
		expired, revoked := s.login(t), s.login(t)
		s.expire(t, expired)
		a := s.send(t, request{method: "POST", path: "/api/v1/auth/logout", header: bearer(revoked)})
		require.Equal(t, http.StatusNoContent, a.status)
		before := s.state(t)
		prefix := s.owner[:strings.IndexAny(s.owner, "_")+1]
		callers := map[string]http.Header{
			"no token":               nil,
			"wrong token":            bearer(prefix + strings.Repeat("A", len(s.owner)-len(prefix))),
			"token cut short":        bearer(s.owner[:len(s.owner)-1]),
			"token and more":         bearer(s.owner + "A"),
			"token in other letters": bearer(strings.ToUpper(s.owner)),
			"expired":                bearer(expired),
			"revoked":                bearer(revoked),
			"no word after Bearer":   {"Authorization": {"Bearer"}},
			"two tokens":             bearer(s.owner + " " + s.owner),
			"basic":                  {"Authorization": {"Basic " + s.owner}},
			"no scheme":              {"Authorization": {s.owner}},
			"very long":              bearer(strings.Repeat("A", 40_000)),
			"development header":     {"X-Development-User": {"someone"}},
			"development header, wrong token": {"X-Development-User": {"someone"},
				"Authorization": {"Bearer " + rand.Text()}},
			"cookie": {"Cookie": {"token=" + s.owner + "; Authorization=Bearer " + s.owner}},
			"forwarded by a proxy": {"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-User": {"someone"},
				"X-Original-Url": {"/health"}, "X-Http-Method-Override": {"GET"}},
		}
		routes, tried := s.routes(t), 0
		for _, r := range routes {
			business := strings.HasPrefix(r.template, "/api/v1/") && !slices.Contains(signIn, r.template)
			require.Equal(t, business, r.secured, "%s %s: security in the document", r.method, r.template)
			if !business {
				continue
			}
			for who, header := range callers {
				a := s.send(t, request{r.method, r.path, r.body, r.contentType, header})
				tried++
				require.Equal(t, http.StatusUnauthorized, a.status, "%s %s with %s: %s", r.method, r.template, who,
					a.body)
				require.Equal(t, "Bearer", strings.Fields(a.header.Get("WWW-Authenticate"))[0])
				require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
				require.Contains(t, []string{"token_missing", "token_invalid"}, a.text("code"))
			}
			// A token is accepted in the header only.
			separator := map[bool]string{true: "&", false: "?"}[strings.Contains(r.path, "?")]
			for _, name := range []string{"token", "access_token", "authorization"} {
				a := s.send(t, request{r.method, r.path + separator + name + "=" + s.owner, r.body, r.contentType,
					nil})
				tried++
				require.Equal(t, http.StatusUnauthorized, a.status, "%s %s with the token in the query", r.method,
					r.template)
			}
		}
		require.Equal(t, before, s.state(t), "nothing has changed for the owner")
		s.asOwner(t, routes)
		sum(t, "%d routes, %d callers: %d requests refused", len(routes), len(callers)+3, tried)
	})
}

// asOwner shows that the same requests work for the owner.
func (s *secured) asOwner(t *testing.T, routes []route) {
	t.Helper()
	a := s.send(t, request{"POST", "/api/v1/feedback-sessions/" + s.ids["session_id"] + "/generate", map[string]any{},
		"", bearer(s.owner)})
	require.Equal(t, "local", a.text("source"), "the endpoint redirects, which is not followed: %s", a.body)
	require.NotEmpty(t, a.text("warning"))
	order := []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete}
	routes = slices.DeleteFunc(slices.Clone(routes),
		func(r route) bool { return strings.HasPrefix(r.template, "/api/v1/auth/") })
	slices.SortStableFunc(routes, func(a, b route) int {
		return slices.Index(order, a.method) - slices.Index(order,
			b.method)
	})
	for _, r := range routes {
		a := s.send(t, request{r.method, r.path, r.body, r.contentType, bearer(s.owner)})
		if a.status >= 400 {
			require.Equal(t, http.StatusConflict, a.status, "%s %s as the owner: %s", r.method, r.path, a.body)
		}
	}
	require.Zero(t, s.followed.Load(), "a redirect of the summary endpoint was followed")
}
