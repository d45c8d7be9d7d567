package server_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/internal/s3test"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func TestHealthTellsOperatorsWhyUploadsAreRefused(t *testing.T) {
	t.Parallel()
	bucket := s3test.Start(t)
	h := newServer(t, server.RoleAll, map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "OPERATOR_PASSWORD": operatorPassword,
		"AUDIO_STORAGE_URL": s3test.URL(bucket.Endpoint, "missing"),
		"AWS_ACCESS_KEY_ID": s3test.AccessKeyID, "AWS_SECRET_ACCESS_KEY": s3test.SecretAccessKey,
	}).Handler()
	operator := basic("operator", operatorPassword)
	w := get(h, "/health", operator)
	var report server.Report
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &report))
	require.False(t, report.StorageAvailable)
	require.Contains(t, report.Storage.Detail, "NoSuchBucket")
	require.NotContains(t, w.Body.String(), s3test.SecretAccessKey)
	require.NotContains(t, get(h, "/health").Body.String(), "bucket")

	page := get(h, "/admin/health", operator).Body.String()
	require.Contains(t, page, "are refused: ")
	require.Contains(t, page, "NoSuchBucket")
	require.Equal(t, http.StatusUnauthorized, get(h, "/admin/health").Code)
}

// The bucket accepts connections and never answers: teachers still read and write texts.
func TestServerIsReadyWhileTheBucketHangs(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	h := onSQLite(t, server.RoleAll, "AUDIO_STORAGE_URL", s3test.URL("http://"+l.Addr().String(), "audio"),
		"AWS_ACCESS_KEY_ID", s3test.AccessKeyID, "AWS_SECRET_ACCESS_KEY", s3test.SecretAccessKey).Handler()
	require.JSONEq(t, `{"ready":true,"storage_available":false}`, get(h, "/readyz").Body.String())
	report := health(t, h)
	require.True(t, report.Database.Reachable)
	require.NotEmpty(t, report.Storage.Detail)
	require.Contains(t, get(h, "/metrics").Body.String(), "\nstorage_available 0\n")
}

// A bucket that answers each time, but not as soon as a balancer wants to know, is no fault.
func TestSlowBucketIsAvailable(t *testing.T) {
	t.Parallel()
	wanted := make(chan struct{})
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-wanted:
			_, _ = io.WriteString(w, "<ListBucketResult></ListBucketResult>")
		case <-r.Context().Done():
		}
	}))
	defer bucket.Close()
	h := onSQLite(t, server.RoleAll, "AUDIO_STORAGE_URL", s3test.URL(bucket.URL, "audio"),
		"AWS_ACCESS_KEY_ID", s3test.AccessKeyID, "AWS_SECRET_ACCESS_KEY", s3test.SecretAccessKey).Handler()
	require.Eventually(t, func() bool {
		available := health(t, h).StorageAvailable
		select {
		case wanted <- struct{}{}: // after the answer of /health
		default:
		}
		return available
	}, timeout, 50*time.Millisecond)
}

// A paused queue is not "everything works", and the teacher is promised no time.
func TestPausedQueueIsTold(t *testing.T) {
	t.Parallel()
	database := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	s := onSQLite(t, server.RoleAPI, "DATABASE_URL", database, "OPERATOR_PASSWORD", operatorPassword)
	require.NoError(t, jobqueue.NewClient(queueIn(t, database)).Pause(t.Context(), "speech", time.Time{}))
	require.Equal(t, []string{"speech"}, health(t, s.Handler()).Queue.Paused)
	page := get(s.Handler(), "/admin/health", basic("operator", operatorPassword)).Body.String()
	require.Contains(t, page, "Does not work: recognition, jobs")
	require.Contains(t, page, "paused, so that its jobs wait: speech")
	require.Contains(t, get(s.Handler(), "/metrics").Body.String(), `jobqueue_paused{queue="speech"} 1`)
}

func TestOperatorsPagesOfAServerWithoutDatabase(t *testing.T) {
	t.Parallel()
	s := newServer(t, server.RoleAll, map[string]string{"OPERATOR_PASSWORD": operatorPassword})
	w := get(s.Handler(), "/admin/health", basic("operator", operatorPassword))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "not configured: set DATABASE_URL")
	require.Contains(t, w.Body.String(), "</html>")
	w = get(s.Handler(), "/admin/queue/", basic("operator", operatorPassword))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "set DATABASE_URL")
	require.Equal(t, http.StatusUnauthorized, get(s.Handler(), "/admin/queue/", bearer("")).Code)
}

// When jobs cannot be counted, the last counts get old: they are neither zero nor missing.
func TestCountsOfJobsTellTheirAge(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.db")
	s := onSQLite(t, server.RoleAPI, "DATABASE_URL", "sqlite:"+file)
	queue, err := sqlitequeue.Open(file, sqlitequeue.Config{})
	require.NoError(t, err)
	defer queue.Close()
	_, err = jobqueue.NewClient(queue).Enqueue(t.Context(), jobqueue.Params{Kind: "work"})
	require.NoError(t, err)
	require.Equal(t, 1, health(t, s.Handler()).Queue.Waiting)
	write, _ := queue.DB()
	_, err = write.ExecContext(t.Context(), "drop table jobqueue_job")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		r := health(t, s.Handler())
		return r.Database.Migrated && r.Queue.Waiting == 1 && r.Queue.AgeSeconds > 2.5
	}, timeout, 100*time.Millisecond)
	text := get(s.Handler(), "/metrics").Body.String()
	require.Contains(t, text, `jobqueue_jobs{queue="default",state="waiting"} 1`)
	require.Regexp(t, `\njobqueue_counts_age_seconds [2-9]`, text)
}

// The directory of a volume that is not mounted is not made: the data would be in a wrong place.
func TestDirectoryOfTheDatabaseMustExist(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "missing")
	config, err := server.ParseConfig(map[string]string{"DATABASE_URL": "sqlite:" + filepath.Join(dir, "x.db")})
	require.NoError(t, err)
	_, err = server.New(t.Context(), config, server.Options{})
	require.ErrorContains(t, err, dir+": no such file or directory; run `migrate`")
	require.NoDirExists(t, dir)
	require.NoError(t, server.Migrate(t.Context(), config, slog.New(slog.DiscardHandler)))
	s, err := server.New(t.Context(), config, server.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	config.DatabaseURL = "sqlite:" + filepath.Join(dir, "x.db", "y", "z.db")
	_, err = server.New(t.Context(), config, server.Options{})
	require.EqualError(t, err, "DATABASE_URL: stat "+filepath.Join(dir, "x.db", "y")+": not a directory")
}

// A server whose tables nobody has made yet says so, and not that the database is away.
func TestServerWaitsForMigrate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.db")
	s, log := newUnmigrated(t, server.RoleAll, map[string]string{"DATABASE_URL": "sqlite:" + file})
	require.Len(t, log.grep("no recogniser is configured"), 1)
	require.Equal(t, file, log.grep(`"msg":"configured"`)[0]["database"])
	serve(t, s)
	require.Eventually(t, func() bool { return len(log.grep("waiting for the database")) > 0 }, timeout,
		10*time.Millisecond)
	line := log.grep("waiting for the database")[0]
	require.Contains(t, line["msg"], "run `migrate`")
	require.Equal(t, file, line["database"])
	require.NotContains(t, line, "error")

	require.NoError(t, server.Migrate(t.Context(), server.Config{DatabaseURL: "sqlite:" + file},
		slog.New(slog.DiscardHandler)))
	require.Eventually(t, func() bool { return len(log.grep("the database is ready")) == 1 }, timeout,
		10*time.Millisecond)
	require.Len(t, log.grep("which lacks tables"), 1)
}

// Of a standby, or a server that was set to be read-only, what is there can be read.
func TestReadOnlyPostgreSQLIsTold(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	h := newServer(t, server.RoleAPI, map[string]string{
		"DATABASE_URL": address + "&default_transaction_read_only=on", "ALLOW_DEVELOPMENT_USER_HEADER": "true",
		"MIGRATE_DATABASE_URL": address, "AUDIO_RESERVE_BYTES": "1000000000000000000",
	}).Handler()
	require.JSONEq(t, `{"ready":true,"storage_available":false}`, get(h, "/readyz").Body.String())
	require.Contains(t, health(t, h).Storage.Detail, "fewer bytes are free than are reserved\nPostgreSQL is read-only")
	require.Contains(t, get(h, "/metrics").Body.String(), "\nstorage_available 0\n")
}
