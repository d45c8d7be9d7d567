package server_test

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
)

func TestDevelopmentSignInIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	credentials := map[string]string{"MINIAPP_APP_ID": "id", "MINIAPP_APP_SECRET": "secret"}
	elsewhere := map[string]string{"MINIAPP_APP_ID": "id", "MINIAPP_APP_SECRET": "secret", "HTTP_ADDR": ":80"}
	for name, c := range map[string]struct {
		environment map[string]string
		refusal     string
	}{
		"default address":        {map[string]string{}, ""},
		"localhost":              {map[string]string{"HTTP_ADDR": "localhost:80"}, ""},
		"IPv6 loopback":          {map[string]string{"HTTP_ADDR": "[::1]:80"}, ""},
		"every address":          {map[string]string{"HTTP_ADDR": ":8080"}, "can reach HTTP_ADDR"},
		"every IPv4 address":     {map[string]string{"HTTP_ADDR": "0.0.0.0:8080"}, "can reach HTTP_ADDR"},
		"address of a network":   {map[string]string{"HTTP_ADDR": "192.0.2.1:8080"}, "can reach HTTP_ADDR"},
		"name":                   {map[string]string{"HTTP_ADDR": "server:8080"}, "can reach HTTP_ADDR"},
		"platform's credentials": {credentials, ""},
		"credentials elsewhere":  {elsewhere, "can reach HTTP_ADDR"},
		"hosts are named":        {map[string]string{"HTTP_ADDR": ":80", "DEVELOPMENT_HOSTS": "a.test, ::1"}, ""},
		"production":             {map[string]string{"HTTP_ADDR": ":8080", "APP_ENV": "production"}, ""},
		"host with a port":       {map[string]string{"DEVELOPMENT_HOSTS": "a.test:80"}, "DEVELOPMENT_HOSTS: must be"},
		"empty host":             {map[string]string{"DEVELOPMENT_HOSTS": "a.example,"}, "DEVELOPMENT_HOSTS: must be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := maps.Clone(c.environment)
			environment["ALLOW_DEVELOPMENT_USER_HEADER"] = "true"
			_, err := server.ParseMigrateConfig(environment)
			require.NoError(t, err, "migrate serves nobody")
			_, err = server.ParseConfig(environment)
			if c.refusal == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.refusal)
			delete(environment, "ALLOW_DEVELOPMENT_USER_HEADER")
			delete(environment, "DEVELOPMENT_HOSTS")
			_, err = server.ParseConfig(environment)
			require.NoError(t, err)
		})
	}
}

// A page on the web may have a name that resolves to the developer's own machine.
func TestDevelopmentHeaderNeedsAKnownHost(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, server.RoleAPI, "DEVELOPMENT_HOSTS", "Test.School.example,192.0.2.7")
	for host, status := range map[string]int{
		"localhost":                200,
		"LOCALHOST:8080":           200,
		"127.0.0.1:8080":           200,
		"127.9.9.9":                200,
		"[::1]:8080":               200,
		"[::1]":                    200,
		"test.school.example:443":  200,
		"192.0.2.7":                200,
		"":                         403,
		"evil.example":             403,
		"localhost.evil.example":   403,
		"127.0.0.1.evil.example":   403,
		"school.example":           403,
		"192.0.2.8:8080":           403,
		"evil.example:localhost":   403,
		"x.test.school.example:80": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/profiles", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		require.Equal(t, http.StatusUnauthorized, w.Code, "without the header every host is answered")
		r.Header.Set("X-Development-User", "someone")
		w = httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		require.Equal(t, status, w.Code, host)
		if status == http.StatusForbidden {
			require.Contains(t, w.Body.String(), "development_host_refused")
		}
	}
}

func TestTheStartSaysOnceWhoCanSignIn(t *testing.T) {
	t.Parallel()
	for message, environment := range map[string]map[string]string{
		"DEVELOPMENT SIGN-IN IS ON": {},
		"MINIAPP_APP_ID and ALLOW_DEVELOPMENT_USER_HEADER are": {"MINIAPP_APP_ID": "id",
			"MINIAPP_APP_SECRET": "secret"},
		"ALLOW_DEVELOPMENT_USER_HEADER is ignored": {"APP_ENV": "production"},
		"nobody can sign in":                       {"APP_ENV": "production"},
	} {
		var logged bytes.Buffer
		environment["ALLOW_DEVELOPMENT_USER_HEADER"] = "true"
		environment["DATABASE_URL"] = "sqlite:" + filepath.Join(t.TempDir(), "x.db")
		environment["AUDIO_STORAGE_DIR"] = t.TempDir()
		config, err := server.ParseConfig(environment)
		require.NoError(t, err)
		log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
		s, err := server.New(t.Context(), config, server.Options{Logger: log})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.Contains(t, logged.String(), message)
		require.Equal(t, 1, strings.Count(logged.String(), message), logged.String())
	}
}

// A container gets .env.example over the variables of its image, as by docker run --env-file.
func TestExampleEnvironmentDoesNotOpenTheContainer(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	image := regexp.MustCompile(`(?m)^ENV (.*)$`).FindSubmatch(dockerfile)
	require.NotNil(t, image)
	environment, _, err := server.Environment(strings.Fields(string(image[1])), os.DevNull)
	require.NoError(t, err)
	example, _, err := server.Environment(nil, "../../../.env.example")
	require.NoError(t, err)
	maps.Copy(environment, example)
	config, err := server.ParseConfig(environment)
	require.NoError(t, err)
	require.Equal(t, ":8080", config.HTTPAddr)
	require.False(t, config.DevelopmentSignIn())

	// Nor if the container is taken out of production by mistake.
	environment["APP_ENV"] = "development"
	_, err = server.ParseConfig(environment)
	require.ErrorContains(t, err, "ALLOW_DEVELOPMENT_USER_HEADER")
}
