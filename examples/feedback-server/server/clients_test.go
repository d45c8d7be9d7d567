package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/internal/longtest"
)

// documentFile writes the OpenAPI document of a server to a file.
func documentFile(t *testing.T, s *server.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "openapi.json")
	require.NoError(t, os.WriteFile(file, get(s.Handler(), "/openapi.json").Body.Bytes(), 0o600))
	return file
}

// The rules are Redocly's recommended ones. The project has no license to name in the document.
func TestDocumentSatisfiesTheLinter(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	nodetest.RequireNode(t, 20)
	for name, environment := range map[string]map[string]string{
		"development": {"ALLOW_DEVELOPMENT_USER_HEADER": "true", "BASE_PATH": "/teach"},
		"production":  {"APP_ENV": "production"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := documentFile(t, newServer(t, server.RoleAPI, environment))
			out := nodetest.Run(t, "testdata/redocly", []string{"OPENAPI=" + file}, "lint.mjs")
			var result struct {
				Totals   struct{ Errors, Warnings int }
				Problems []struct{ RuleID, Message string }
			}
			require.NoError(t, json.Unmarshal([]byte(out), &result), out)
			require.Zero(t, result.Totals.Errors, out)
			for _, p := range result.Problems {
				require.Equal(t, "info-license", p.RuleID, out)
			}
		})
	}
}

func TestGeneratedTypeScriptClient(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	nodetest.RequireNode(t, 20)
	s := onSQLite(t, server.RoleAPI)
	recording, err := filepath.Abs("../../internal/demo/speech/lesson1-segment1.mp3")
	require.NoError(t, err)
	out := nodetest.Run(t, "testdata/typescript", []string{
		"OPENAPI=" + documentFile(t, s), "BASE_URL=http://" + serve(t, s), "RECORDING=" + recording,
	}, "run.mjs")
	require.Contains(t, out, "saved ")
}
