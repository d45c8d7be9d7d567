package service_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authhttp"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/draw"
)

// TestDocumentsAreValid uses an independent validator, which the library does not depend on.
func TestDocumentsAreValid(t *testing.T) {
	t.Parallel()
	config, err := server.ParseConfig(map[string]string{})
	require.NoError(t, err)
	service, err := server.New(t.Context(), config, server.Options{Version: server.Version()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, service.Close()) })
	files, err := gateway.OpenFiles(t.TempDir(), 0)
	require.NoError(t, err)
	tasks := gateway.NewMemoryTasks(gateway.Performer{Generator: draw.Generator{}, Files: files}, 1)
	images, err := gateway.New(gateway.Config{Tasks: tasks, Files: files, Keys: gateway.Anyone})
	require.NoError(t, err)
	for name, h := range map[string]http.Handler{
		"auth":    authhttp.Handler(authhttp.Config{}),
		"service": service.Handler(),
		"gateway": images,
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
			require.Equal(t, http.StatusOK, w.Code)
			doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
			require.NoError(t, err)
			// Huma describes patterns by this keyword; JSON Schema ignores unknown ones.
			require.NoError(t, doc.Validate(t.Context(), openapi3.AllowExtraSiblingFields("patternDescription")))
		})
	}
}
