package authhttp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authhttp"
)

var update = flag.Bool("update", false, "write testdata/openapi.json")

func document(t *testing.T, c authhttp.Config) []byte {
	w := httptest.NewRecorder()
	authhttp.Handler(c).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.Bytes()
}

func TestOpenAPIDocument(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	require.NoError(t, json.Indent(&got, document(t, authhttp.Config{}), "", "  "))
	got.WriteByte('\n')
	if *update {
		require.NoError(t, os.WriteFile("testdata/openapi.json", got.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/openapi.json")
	require.NoError(t, err, "make it with go test -run OpenAPI -update")
	require.Equal(t, string(want), got.String())
}

// The operations can be added to an API with Huma's defaults.
func TestRegisterOnAForeignAPI(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("Theirs", "1"))
	authhttp.Register(huma.NewGroup(api, "/session"), authhttp.Config{Service: b.service})
	token := b.signIn(t, "anna")
	r := do(t, mux, http.MethodGet, "/session/auth/me", "", "Authorization", "Bearer "+token)
	require.Equal(t, http.StatusOK, r.StatusCode, r.text)
	do(t, mux, http.MethodGet, "/session/auth/me", "").problem(t, http.StatusUnauthorized, "token_missing")
	require.NoError(t, b.store.Close())
	do(t, mux, http.MethodGet, "/session/auth/me", "", "Authorization", "Bearer "+token).problem(t,
		http.StatusServiceUnavailable, "database_unavailable")
	require.Contains(t, api.OpenAPI().Paths["/session/auth/me"].Get.Security[0], "bearer")
}
