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
	h := feedbackhttp.Handler(feedbackhttp.Config{Authenticate: teacherOf, BasePath: "/teach"})
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
	require.Equal(t, string(want), string(got), "run the test with -update when the change is meant")
}

// TestDocumentIsComplete: a reference page shows what the document contains.
func TestDocumentIsComplete(t *testing.T) {
	t.Parallel()
	var doc object
	require.NoError(t, json.Unmarshal(document(t), &doc))
	for path, methods := range doc["paths"].(object) {
		for method, op := range methods.(object) {
			name := method + " " + path
			op := op.(object)
			for _, key := range []string{"summary", "description", "operationId", "tags", "security"} {
				require.NotEmpty(t, op[key], "%s lacks a %s", name, key)
			}
			responses := op["responses"].(object)
			for _, status := range []string{"401", "422", "500", "503"} {
				require.Contains(t, responses, status, name)
			}
			parameters, _ := op["parameters"].([]any)
			for _, p := range parameters {
				p := p.(object)
				schema := p["schema"].(object)
				require.Equal(t, p["required"] == true, p["example"] != nil || schema["examples"] != nil,
					"%s: tools send the example of the parameter %s, so that it has one if it is required only",
					name, p["name"])
			}
		}
	}
	for _, tag := range doc["tags"].([]any) {
		require.NotEmpty(t, tag.(object)["description"], tag)
	}
	for name, schema := range doc["components"].(object)["schemas"].(object) {
		if name == "Problem" || name == "FieldError" {
			continue
		}
		for field, p := range schema.(object)["properties"].(object) {
			p := p.(object)
			if p["readOnly"] == true {
				continue // tools do not send it
			}
			if p["$ref"] != nil || p["type"] == "array" || p["type"] == "boolean" || p["enum"] != nil {
				continue
			}
			if name == "RecordFields" && field == "feedback_session_id" {
				require.Empty(t, p["examples"], "tools would send it")
				continue
			}
			require.NotEmpty(t, p["examples"], "%s.%s lacks an example", name, field)
		}
	}
}
