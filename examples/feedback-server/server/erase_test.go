package server_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/db"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/internal/s3test"
	"lessonkit.example/jobqueue"
)

// storages runs a test on both engines, each with the recordings in a directory and in a bucket,
// which both have them as files in audio.
func storages(t *testing.T, test func(t *testing.T, environment map[string]string, audio string)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		for _, storage := range []string{"directory", "bucket"} {
			t.Run(engine+" and a "+storage, func(t *testing.T) {
				env := map[string]string{
					"DATABASE_URL":                  "sqlite:" + filepath.Join(t.TempDir(), "x.db"),
					"ALLOW_DEVELOPMENT_USER_HEADER": "true",
				}
				if engine == "postgres" {
					env["DATABASE_URL"] = pgtest.URL(t)
				}
				if storage == "directory" {
					env["AUDIO_STORAGE_DIR"] = t.TempDir()
					test(t, env, env["AUDIO_STORAGE_DIR"])
					return
				}
				bucket := s3test.Start(t)
				audio := bucket.Bucket(t, "audio")
				env["AUDIO_STORAGE_URL"] = s3test.URL(bucket.Endpoint, "audio")
				env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"] = s3test.AccessKeyID, s3test.SecretAccessKey
				test(t, env, audio)
			})
		}
	}
}

// hearing returns the address of a recogniser that hears "heard".
func hearing(t *testing.T) string {
	t.Helper()
	speech := httptest.NewServer(saying("heard"))
	t.Cleanup(speech.Close)
	return speech.URL
}

// teach gives a teacher a student with a transcribed lesson, a record, words, defaults and a device
// that waits for its session.
func teach(t *testing.T, c feedbackclient.Client) feedbackclient.Segment {
	t.Helper()
	p, session, lesson := openLesson(t, c, "Someone")
	seg, err := c.Upload(t.Context(), lesson.ID, 0, "a.wav", asrtest.WAV(10*time.Millisecond))
	require.NoError(t, err)
	seg = waitState(t, c, seg.ID, "transcribed")
	_, err = c.Generate(t.Context(), session.ID, nil)
	require.NoError(t, err)
	_, err = c.SaveRecord(t.Context(), p.ID, session.ID, "2026-03-01", "Well done.")
	require.NoError(t, err)
	require.NoError(t, c.Call(t.Context(), "PUT", "/api/v1/words", map[string]any{"words": []string{"clay"}}, nil))
	require.NoError(t, c.Call(t.Context(), "PUT", "/api/v1/profile-defaults",
		map[string]any{"grade": "3", "subject": "Art", "lesson_duration_minutes": 60}, nil))
	var device struct {
		Code string `json:"code"`
	}
	require.NoError(t, c.Call(t.Context(), "POST", "/api/v1/auth/device", nil, &device))
	require.NoError(t, c.Call(t.Context(), "POST", "/api/v1/auth/device/confirm",
		map[string]any{"code": device.Code}, nil))
	return seg
}

// recordings returns the number of recordings in a directory or in that of a bucket.
func recordings(t *testing.T, audio string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(audio, "[0-9a-f][0-9a-f]", "*"))
	require.NoError(t, err)
	return len(files)
}

// rowsOfTeachers counts the rows of all tables of packages feedback and auth.
func rowsOfTeachers(t *testing.T, url string) map[string]int {
	t.Helper()
	opened, err := db.Open(url)
	require.NoError(t, err)
	defer opened.Close()
	query := `select name from sqlite_schema where type = 'table'`
	if opened.Engine == db.Postgres {
		query = `select table_name from information_schema.tables where table_schema = current_schema()`
	}
	rows, err := opened.R.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	tables := map[string]int{}
	for rows.Next() {
		var table string
		require.NoError(t, rows.Scan(&table))
		if strings.HasPrefix(table, "feedback_") || strings.HasPrefix(table, "auth_") {
			tables[table] = 0
		}
	}
	require.NoError(t, rows.Err())
	for table := range tables {
		var n int
		require.NoError(t, opened.R.QueryRowContext(t.Context(), "select count(*) from "+table).Scan(&n))
		tables[table] = n
	}
	return tables
}

// personal are an identifier at a platform, and parts of a name, a word and a text.
var personal = []string{"openid-5d1c", "zebedee", "quagga", "stripes"}

// repeating returns the address of a recogniser that hears what it was asked to expect, and refuses
// recordings of more than a second with it.
func repeating(t *testing.T) string {
	t.Helper()
	speech := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{"text": "heard " + r.FormValue("prompt")}
		if _, file, err := r.FormFile("file"); err == nil && file.Size > int64(len(asrtest.WAV(time.Second))) {
			w.WriteHeader(http.StatusBadRequest)
			answer = map[string]string{"error": "not understood: " + r.FormValue("prompt")}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(speech.Close)
	return speech.URL
}

// teachPersonally stores the personal words in each way there is.
func teachPersonally(t *testing.T, c feedbackclient.Client) {
	t.Helper()
	require.NoError(t, c.Call(t.Context(), "PUT", "/api/v1/words", map[string]any{"words": personal[2:3]}, nil))
	p, session, lesson := openLesson(t, c, "Zebedee")
	for i, state := range []string{"transcribed", "failed"} {
		recording := append(asrtest.WAV(time.Duration(i*2+1)*500*time.Millisecond), "spoken by Zebedee"...)
		seg, err := c.Upload(t.Context(), lesson.ID, i, "a.wav", recording)
		require.NoError(t, err)
		waitState(t, c, seg.ID, state)
	}
	for range 60 { // which fill and split pages of SQLite's file
		_, err := c.SaveRecord(t.Context(), p.ID, "", "2026-03-01", strings.Repeat("Zebedee draws stripes. ", 20))
		require.NoError(t, err)
	}
	_, err := c.SaveRecord(t.Context(), p.ID, session.ID, "2026-03-01", "The stripes of a quagga.")
	require.NoError(t, err)
}

// personalIn returns which of the personal words are in the files of an SQLite database, or in the
// rows of all tables of PostgreSQL.
func personalIn(t *testing.T, url string) []string {
	t.Helper()
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		return personalPartsOf(contents(t, filepath.Dir(path)))
	}
	opened, err := db.Open(url)
	require.NoError(t, err)
	defer opened.Close()
	var all string
	require.NoError(t, opened.R.QueryRowContext(t.Context(),
		`select schema_to_xml(current_schema(), true, false, '')::text`).Scan(&all))
	return personalPartsOf(all)
}

// contents returns the contents of all files below a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all []byte
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		all = append(all, content...)
		return err
	}))
	return string(all)
}

func personalPartsOf(text string) (found []string) {
	text = strings.ToLower(text)
	for _, word := range personal {
		if strings.Contains(text, word) {
			found = append(found, word)
		}
	}
	return found
}

func TestErasingATeacherLeavesNothing(t *testing.T) {
	t.Parallel()
	storages(t, func(t *testing.T, environment map[string]string, audio string) {
		environment["LOCAL_ASR_URL"] = repeating(t)
		s, log := newLoggedServer(t, server.RoleAll, environment)
		url := "http://" + serve(t, s)
		other := teach(t, feedbackclient.Development(url, "other"))
		before := rowsOfTeachers(t, environment["DATABASE_URL"])
		require.Equal(t, 1, recordings(t, audio))

		c := feedbackclient.Development(url, personal[0])
		teach(t, c)
		teachPersonally(t, c)
		require.Equal(t, 4, recordings(t, audio))
		require.Subset(t, personalIn(t, environment["DATABASE_URL"]), personal)
		require.NotEmpty(t, personalPartsOf(contents(t, audio)))
		for table, n := range rowsOfTeachers(t, environment["DATABASE_URL"]) {
			switch {
			case table == "auth_sessions": // nobody has logged in
			case strings.HasSuffix(table, "_migrations"), strings.HasSuffix(table, "_config"):
			default:
				require.Greater(t, n, before[table], "%s: the teacher has no row to erase", table)
			}
		}
		me, err := c.Me(t.Context())
		require.NoError(t, err)
		require.NoError(t, c.EraseMe(t.Context()))
		require.Equal(t, before, rowsOfTeachers(t, environment["DATABASE_URL"]), "at once")
		require.Empty(t, personalIn(t, environment["DATABASE_URL"]), "also in the jobs and in what was deleted")
		require.Empty(t, personalPartsOf(log.String()))
		jobs, _, err := jobqueue.NewClient(queueIn(t, environment["DATABASE_URL"])).Search(t.Context(), me.ID, 0)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.Equal(t, "erase_teacher", jobs[0].Kind)
		require.Eventually(t, func() bool { return recordings(t, audio) == 1 }, timeout, 20*time.Millisecond)
		require.Empty(t, personalPartsOf(contents(t, audio)))
		_, err = feedbackclient.Development(url, "other").Segment(t.Context(), other.ID)
		require.NoError(t, err, "of another teacher")

		me, err = c.Me(t.Context()) // makes another teacher
		require.NoError(t, err)
		require.NotEmpty(t, me.ID)
		require.NoError(t, c.EraseMe(t.Context()), "who has nothing")
	})
}

func TestDeletingAStudentLeavesNothing(t *testing.T) {
	t.Parallel()
	storages(t, func(t *testing.T, environment map[string]string, audio string) {
		environment["LOCAL_ASR_URL"] = repeating(t)
		c := feedbackclient.Development("http://"+serve(t, newServer(t, server.RoleAll, environment)), "somebody")
		teachPersonally(t, c)
		for p, err := range c.Profiles(t.Context(), feedbackclient.ProfileFilter{}) {
			require.NoError(t, err)
			require.NoError(t, c.DeleteProfile(t.Context(), p.ID))
		}
		require.Equal(t, personal[2:3], personalIn(t, environment["DATABASE_URL"]), "the teacher's word")
		require.Eventually(t, func() bool { return recordings(t, audio) == 0 }, timeout, 20*time.Millisecond)
		require.Empty(t, personalPartsOf(contents(t, audio)))
	})
}

// TestEraseJobNeedsADeletedAccount: a request that deleted the data, but not the account, has
// failed, and what was recorded since is kept.
func TestEraseJobNeedsADeletedAccount(t *testing.T) {
	t.Parallel()
	storages(t, func(t *testing.T, environment map[string]string, _ string) {
		environment["LOCAL_ASR_URL"] = hearing(t)
		s := newServer(t, server.RoleAll, environment)
		c := feedbackclient.Development("http://"+serve(t, s), "somebody")
		seg := teach(t, c)
		me, err := c.Me(t.Context())
		require.NoError(t, err)

		opened, err := db.Open(environment["DATABASE_URL"])
		require.NoError(t, err)
		t.Cleanup(func() { opened.Close() })
		queue := queueIn(t, environment["DATABASE_URL"])
		erase := func() {
			t.Helper()
			inserted, err := jobqueue.NewClient(queue).Enqueue(t.Context(), jobqueue.Params{Queue: "files",
				Kind: "erase_teacher", Args: map[string]string{"kind": "erase_teacher", "teacher_id": me.ID}})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				job, err := jobqueue.NewClient(queue).Get(t.Context(), inserted.ID)
				return err == nil && job.State == jobqueue.StateSucceeded
			}, timeout, 20*time.Millisecond)
		}
		erase()
		_, err = c.Segment(t.Context(), seg.ID)
		require.NoError(t, err)

		if opened.Engine == db.Postgres {
			return // a foreign key keeps accounts that have data
		}
		require.NoError(t, opened.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `delete from auth_users`)
			return err
		}))
		erase()
		require.Zero(t, rowsOfTeachers(t, environment["DATABASE_URL"])["feedback_segments"])
	})
}

func TestRecordingsAreDeletedAfterTheRetention(t *testing.T) {
	t.Parallel()
	storages(t, func(t *testing.T, environment map[string]string, audio string) {
		environment["LOCAL_ASR_URL"] = hearing(t)
		environment["AUDIO_RETENTION_DAYS"] = "30"
		environment["OPERATOR_PASSWORD"] = operatorPassword
		s := newServer(t, server.RoleAll, environment)
		c := feedbackclient.Development("http://"+serve(t, s), "somebody")
		old, recent := teach(t, c), teach(t, c)
		require.Equal(t, 2, recordings(t, audio))

		store, err := db.Open(environment["DATABASE_URL"])
		require.NoError(t, err)
		t.Cleanup(func() { store.Close() })
		require.NoError(t, store.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `update feedback_segments set transcribed_at = $1 where segment_id = $2`,
				db.Time(time.Now().UTC().AddDate(0, 0, -31)), old.ID)
			return err
		}))
		run := func(schedule string) int {
			return request(s, http.MethodPost, "/schedules/run", func(r *http.Request) {
				r.SetBasicAuth("operator", operatorPassword)
				r.PostForm = url.Values{"name": {schedule}}
			}).Code
		}
		require.Eventually(t, func() bool { // not found until the worker has stored it
			return run("retention") == http.StatusSeeOther && recordings(t, audio) == 1
		}, timeout, 200*time.Millisecond)
		require.Equal(t, http.StatusSeeOther, run("sweep"), "is a schedule, too")
		kept, err := c.Segment(t.Context(), old.ID)
		require.NoError(t, err)
		require.Equal(t, "heard", strings.ToLower(strings.Trim(kept.Text, ".")), "the text stays")
		require.NotNil(t, kept.AudioDeletedAt, "clients need not try")
		require.Nil(t, recent.AudioDeletedAt)
		var p *feedbackclient.Problem
		_, err = c.Audio(t.Context(), old.ID)
		require.ErrorAs(t, err, &p)
		require.Equal(t, http.StatusNotFound, p.Status)
		recording, err := c.Audio(t.Context(), recent.ID)
		require.NoError(t, err)
		require.NoError(t, recording.Close())
	})
}
