package feedbackhttp_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
)

// BenchmarkRequests shows what requests cost on the embedded engine, without a network.
func BenchmarkRequests(b *testing.B) {
	store, err := sqlstore.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "f.db"), outbox)
	require.NoError(b, err)
	defer store.Close()
	require.NoError(b, store.Migrate(b.Context()))
	svc, err := feedback.New(feedback.Config{Store: store, Audio: struct{ feedback.AudioStore }{}})
	require.NoError(b, err)
	teacher := uuid.New()
	profile, err := svc.CreateProfile(b.Context(), teacher, feedback.ProfileInput{Name: "Ming"})
	require.NoError(b, err)
	for range 60 {
		_, _, err := svc.CreateRecord(b.Context(), teacher,
			feedback.RecordInput{ProfileID: profile.ID, Date: "2026-05-31", Content: strings.Repeat("well done ", 80)})
		require.NoError(b, err)
	}
	h := feedbackhttp.Handler(feedbackhttp.Config{Service: svc, Authenticate: teacherOf})
	record := `{"profile_id":"` + profile.ID.String() + `","feedback_date":"2026-05-31","content":"` +
		strings.Repeat("well done ", 80) + `","feedback_session_id":null}`
	for _, c := range []struct{ name, method, path, body string }{
		{"read one", "GET", "/profiles/" + profile.ID.String(), ""},
		{"list 50", "GET", "/feedback-records", ""},
		{"filtered", "GET", "/feedback-records?profile_id=" + profile.ID.String(), ""},
		{"create", "POST", "/feedback-records", record},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(c.method, "/api/v1"+c.path, strings.NewReader(c.body))
				r.Header.Set("X-Teacher", teacher.String())
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				require.Less(b, w.Code, http.StatusBadRequest)
			}
		})
	}
}
