package server_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func newServer(t *testing.T, role server.Role, environment map[string]string) *server.Server {
	t.Helper()
	s, _ := newLoggedServer(t, role, environment)
	return s
}

// newLoggedServer returns a server, if it has a database a migrated one, and its log.
func newLoggedServer(t *testing.T, role server.Role, environment map[string]string) (*server.Server, *logBuffer) {
	t.Helper()
	if environment["DATABASE_URL"] != "" {
		config, err := server.ParseConfig(environment)
		require.NoError(t, err)
		require.NoError(t, server.Migrate(t.Context(), config, slog.New(slog.DiscardHandler)))
	}
	return newUnmigrated(t, role, environment)
}

func newUnmigrated(t *testing.T, role server.Role, environment map[string]string) (*server.Server, *logBuffer) {
	t.Helper()
	if environment["AUDIO_STORAGE_DIR"] == "" && environment["AUDIO_STORAGE_URL"] == "" {
		environment["AUDIO_STORAGE_DIR"] = t.TempDir()
	}
	config, err := server.ParseConfig(environment)
	require.NoError(t, err)
	log := new(logBuffer)
	s, err := server.New(t.Context(), config, server.Options{Role: role, Version: "test",
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, err)
	t.Cleanup(func() {
		s.Close()
		if t.Failed() {
			t.Log("warnings of the server: ", log.grep(`"level":"WARN"`))
		}
	})
	return s, log
}

// onSQLite returns a server for development on a new SQLite file, with more settings: names and
// values.
func onSQLite(t *testing.T, role server.Role, more ...string) *server.Server {
	t.Helper()
	environment := map[string]string{
		"DATABASE_URL":                  "sqlite:" + filepath.Join(t.TempDir(), "x.db"),
		"ALLOW_DEVELOPMENT_USER_HEADER": "true",
	}
	for pair := range slices.Chunk(more, 2) {
		environment[pair[0]] = pair[1]
	}
	return newServer(t, role, environment)
}

// serve runs the server until the test ends, and returns its address.
func serve(t *testing.T, s *server.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return listener.Addr().String()
}

// openLesson starts the first lesson of a student.
func openLesson(t *testing.T, c feedbackclient.Client, student string) (
	p feedbackclient.Profile, session feedbackclient.Session, lesson feedbackclient.Lesson,
) {
	t.Helper()
	p, err := c.EnsureProfile(t.Context(), student)
	require.NoError(t, err)
	session, err = c.OpenSession(t.Context(), p.ID)
	require.NoError(t, err)
	lesson, err = c.StartLesson(t.Context(), session.ID)
	require.NoError(t, err)
	return p, session, lesson
}

// queueIn returns the queue in a database.
func queueIn(t *testing.T, url string) jobqueue.Store {
	t.Helper()
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		queue, err := sqlitequeue.Open(path, sqlitequeue.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { queue.Close() })
		return queue
	}
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pgqueue.New(pool, pgqueue.Config{})
}

// get sends a GET request of a development teacher, with what header adds.
func get(h http.Handler, path string, header ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "localhost"
	r.Header.Set("X-Development-User", "someone")
	for _, add := range header {
		add(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func health(t *testing.T, h http.Handler) server.Report {
	t.Helper()
	w := get(h, "/health")
	require.Equal(t, http.StatusOK, w.Code)
	var r server.Report
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &r))
	return r
}

func TestHealthReportsWhatIsConfigured(t *testing.T) {
	t.Parallel()
	r := health(t, newServer(t, server.RoleAll, map[string]string{"ALLOW_DEVELOPMENT_USER_HEADER": "true"}).Handler())
	require.Equal(t, "degraded", r.Status)
	require.Equal(t, server.DatabaseReport{}, r.Database)
	require.False(t, r.SpeechAvailable)
	require.Contains(t, r.Speech.Detail, "LOCAL_ASR_URL")

	r = health(t, onSQLite(t, server.RoleAll).Handler())
	working := server.DatabaseReport{Configured: true, Reachable: true, Migrated: true, Engine: "sqlite"}
	require.Equal(t, working, r.Database)
	require.True(t, r.DevelopmentAuthEnabled)
	require.False(t, r.MiniappAuthConfigured || r.DeviceAuthEnabled)
	require.Equal(t, "test", r.Version)

	// Where the platform refuses the credentials, teachers still sign in to the page by a code.
	platform := authtest.NewPlatform(t)
	s := newServer(t, server.RoleAPI, map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "MINIAPP_APP_ID": platform.AppID,
		"MINIAPP_APP_SECRET": "wrong", "MINIAPP_API_URL": platform.Endpoint(),
		"OPERATOR_PASSWORD": operatorPassword,
	})
	require.Equal(t, http.StatusServiceUnavailable, logIn(s.Handler(), platform).Code)
	r = health(t, s.Handler())
	require.Equal(t, []bool{false, true}, []bool{r.MiniappAuthConfigured, r.DeviceAuthEnabled})
	page := get(s.Handler(), "/admin/health", basic("operator", operatorPassword)).Body.String()
	require.Regexp(t, `Does not work: .*, sign-in<`, page)
	require.Contains(t, page, "by the mini program, where this server's credentials are refused: the log says why")
}

func TestHealthTellsDetailsToOperatorsOnly(t *testing.T) {
	t.Parallel()
	s, _ := newUnmigrated(t, server.RoleAll, map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "OPERATOR_PASSWORD": operatorPassword,
		"LOCAL_ASR_URL": "http://127.0.0.1:1/internal-name",
	})
	h := s.Handler()
	report := func(header func(*http.Request)) (server.Report, string) {
		r := httptest.NewRequest(http.MethodGet, "/health", nil)
		header(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code)
		var report server.Report
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &report))
		return report, w.Body.String()
	}
	for name, header := range notOperators {
		r, text := report(header)
		require.Equal(t, "local", r.Speech.Provider, name)
		require.True(t, r.Database.Reachable)
		for _, detail := range []string{"version", "engine", "detail", "model", "queue", "storage\"", "127.0.0.1"} {
			require.NotContains(t, text, detail, name)
		}
	}
	r, _ := report(basic("any name", operatorPassword))
	require.Equal(t, "test", r.Version)
	require.Equal(t, "sqlite", r.Database.Engine)
	require.Nil(t, r.Queue, "without tables nothing was counted")
	require.NotNil(t, r.Storage)
	require.Empty(t, r.Storage.Detail)
}

// The database accepts connections and never answers.
func TestHealthAnswersWithinTwoSecondsWhileTheDatabaseHangs(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	hanging := "postgres://u@" + l.Addr().String() + "/d?sslmode=disable"
	// answers asks a new server twice: its first answer cannot be one that it remembers.
	answers := func() (h http.Handler, slowest time.Duration) {
		s, _ := newUnmigrated(t, server.RoleAll, map[string]string{"DATABASE_URL": hanging})
		h = s.Handler()
		for range 2 {
			began := time.Now()
			r := health(t, h)
			slowest = max(slowest, time.Since(began))
			require.True(t, r.Database.Configured)
			require.False(t, r.Database.Reachable)
		}
		return h, slowest
	}
	h, slowest := answers()
	for try := 1; try < 4 && slowest >= 2*time.Second; try++ { // a busy machine may have stood still
		h, slowest = answers()
	}
	require.Less(t, slowest, 2*time.Second)
	require.Equal(t, http.StatusServiceUnavailable, get(h, "/readyz").Code)
}

func TestWorkerServesNoAPI(t *testing.T) {
	t.Parallel()
	h := onSQLite(t, server.RoleWorker).Handler()
	require.Equal(t, http.StatusOK, get(h, "/readyz").Code)
	require.Equal(t, http.StatusOK, get(h, "/metrics").Code)
	require.Equal(t, http.StatusNotFound, get(h, "/api/v1/profiles").Code)
	require.Equal(t, http.StatusNotFound, get(h, "/scalar").Code)
}

// Probers add a query to avoid caches.
func TestStateEndpointsIgnoreUnknownParameters(t *testing.T) {
	t.Parallel()
	h := onSQLite(t, server.RoleAll).Handler()
	require.Equal(t, http.StatusOK, get(h, "/health?probe=1").Code)
	require.Equal(t, http.StatusOK, get(h, "/readyz?probe=1").Code)
}

func TestMetricsAreLabeledByRouteNotByResource(t *testing.T) {
	t.Parallel()
	h := onSQLite(t, server.RoleAll).Handler()
	require.Equal(t, http.StatusOK, get(h, "/api/v1/profiles").Code)
	require.Equal(t, http.StatusNotFound, get(h, "/api/v1/profiles/0197a000-0000-7000-8000-000000000000").Code)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("BREW", "/health", nil))
	text := get(h, "/metrics").Body.String()
	require.Contains(t, text,
		`http_request_duration_seconds_count{method="GET",route="GET /api/v1/profiles/{profile_id}",status="404"} 1`)
	require.NotContains(t, text, "0197a000")
	require.NotContains(t, text, "BREW")
	require.Contains(t, text, `http_request_duration_seconds_count{method="other"`)
	require.Contains(t, text, "database_ready 1")
	require.Contains(t, text, `speech_available{provider="local"} 0`)
}

// signIn returns the token of a teacher who signs in through the platform.
func signIn(t *testing.T, h http.Handler, platform *authtest.Platform) string {
	t.Helper()
	w := logIn(h, platform)
	require.Equal(t, http.StatusOK, w.Code)
	var answer struct{ Token string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer.Token
}

func logIn(h http.Handler, platform *authtest.Platform) *httptest.ResponseRecorder {
	body := strings.NewReader(`{"code":"` + platform.Code(authtest.User{OpenID: "someone"}) + `"}`)
	r := httptest.NewRequest(http.MethodPost, "/api/v1/auth/miniapp/login", body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
