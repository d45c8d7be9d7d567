package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/pgtest"
)

// These are the roles and grants of the README.
func TestServerNeedsOnlyPrivilegesOnRows(t *testing.T) {
	t.Parallel()
	database := pgtest.Start(t, pgtest.Options{}).URL()
	run := func(as string, statements ...string) {
		conn, err := pgx.Connect(t.Context(), as)
		require.NoError(t, err)
		defer conn.Close(t.Context())
		for _, s := range statements {
			_, err := conn.Exec(t.Context(), s)
			require.NoError(t, err, s)
		}
	}
	run(database, "create role feedback_owner login", "create role feedback_server login",
		"create database feedback owner feedback_owner")
	as := func(role string) string {
		u, err := url.Parse(database)
		require.NoError(t, err)
		u.User, u.Path = url.User(role), "/feedback"
		return u.String()
	}
	run(as("feedback_owner"),
		"alter default privileges grant select, insert, update, delete on tables to feedback_server",
		"alter default privileges grant usage on sequences to feedback_server")
	owner := newServer(t, server.RoleAll, map[string]string{"DATABASE_URL": as("feedback_owner")})
	migrated := make(chan error, 3)
	for range cap(migrated) {
		go func() { migrated <- owner.Migrate(t.Context()) }()
	}
	for range cap(migrated) {
		require.NoError(t, <-migrated)
	}
	// The teachers of profiles and defaults are rows of another package's table.
	run(as("feedback_owner"), `do $$ begin
		assert 2 = (select count(*) from pg_constraint where contype = 'f' and confrelid = 'auth_teachers'::regclass
			and conrelid in ('feedback_profiles'::regclass, 'feedback_defaults'::regclass));
	end $$`)

	speech := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := r.FormFile("file"); err != nil {
			http.Error(w, "no file", http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"text":"heard"}`)
	}))
	defer speech.Close()
	server := newServer(t, server.RoleAll, map[string]string{
		"DATABASE_URL": as("feedback_server"), "ALLOW_DEVELOPMENT_USER_HEADER": "true", "LOCAL_ASR_URL": speech.URL,
	})
	c := feedbackclient.Development("http://"+serve(t, server), "someone")
	p, err := c.EnsureProfile(t.Context(), "Someone")
	require.NoError(t, err)
	session, err := c.OpenSession(t.Context(), p.ID)
	require.NoError(t, err)
	lesson, err := c.StartLesson(t.Context(), session.ID)
	require.NoError(t, err)
	audio, err := os.ReadFile("../../internal/demo/speech/lesson1-segment1.mp3")
	require.NoError(t, err)
	_, err = c.Upload(t.Context(), lesson.ID, 0, "a.mp3", audio)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		s, err := c.Session(t.Context(), session.ID)
		return err == nil && s.Lessons[0].Segments[0].State == "transcribed"
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, c.Call(t.Context(), http.MethodDelete, "/api/v1/profiles/"+p.ID, nil, nil))
}
