package feedbackhttp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackhttp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func document(t testing.TB) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	h := feedbackhttp.Handler(feedbackhttp.Config{Teacher: teacherOf, BasePath: "/teach"})
	h.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	require.Equal(t, 200, w.Code)
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, w.Body.Bytes(), "", "  "))
	return append(out.Bytes(), '\n')
}

// TestDocumentIsTheGoldenOne makes every change of the interface show in a diff.
func TestDocumentIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	const golden = "testdata/openapi.json"
	got := document(t)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got), "run the test with -update when the change is meant")
}
