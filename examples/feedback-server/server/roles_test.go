package server_test

import (
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/pgtest"
)

// These are the roles and grants of the README: migrations by the owner of the tables, and
// everything else by the server's role.
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
	admin, err := url.Parse(database)
	require.NoError(t, err)
	admin.Path = "/feedback"
	run(admin.String(), "revoke create on schema public from public",
		"grant create on schema public to feedback_owner")
	run(as("feedback_owner"),
		"alter default privileges grant select, insert, update, delete on tables to feedback_server",
		"alter default privileges grant usage on sequences to feedback_server")
	config, err := server.ParseConfig(map[string]string{"DATABASE_URL": as("feedback_server")})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	const insufficientPrivilege = "42501"
	require.ErrorContains(t, server.Migrate(t.Context(), config, log), insufficientPrivilege)
	config.MigrateDatabaseURL = as("feedback_owner")
	migrated := make(chan error, 3)
	for range cap(migrated) {
		go func() { migrated <- server.Migrate(t.Context(), config, log) }()
	}
	for range cap(migrated) {
		require.NoError(t, <-migrated)
	}
	// The teachers of profiles and defaults are rows of another package's table.
	run(as("feedback_owner"), `do $$ begin
		assert 2 = (select count(*) from pg_constraint where contype = 'f' and confrelid = 'auth_users'::regclass
			and conrelid in ('feedback_profiles'::regclass, 'feedback_defaults'::regclass));
	end $$`)

	server, _ := newUnmigrated(t, server.RoleAll, map[string]string{
		"DATABASE_URL": as("feedback_server"), "ALLOW_DEVELOPMENT_USER_HEADER": "true", "LOCAL_ASR_URL": hearing(t),
	})
	c := feedbackclient.Development("http://"+serve(t, server), "someone")
	segment := uploadSegment(t, c)
	waitState(t, c, segment.ID, "transcribed")
	for profile, err := range c.Profiles(t.Context(), feedbackclient.ProfileFilter{}) {
		require.NoError(t, err)
		require.NoError(t, c.DeleteProfile(t.Context(), profile.ID))
	}
}

// The server's unit does not migrate: its role may not. The unit for that has the owner's address.
func TestUnitsKeepTheRolesApart(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile("../" + name)
		require.NoError(t, err)
		return string(text)
	}
	service, migration := read("feedback-server.service"), read("feedback-server-migrate.service")
	require.NotContains(t, service, "feedback-server migrate")
	require.Contains(t, service, "Wants=network-online.target feedback-server-migrate.service\n")
	require.Regexp(t, `(?m)^After=.* feedback-server-migrate.service$`, service)
	require.Contains(t, service, "\nSystemCallErrorNumber=EPERM\n", "ffmpeg makes a call that is denied")
	require.Contains(t, migration, "ExecStart=/usr/local/bin/feedback-server migrate\n")
	environment := regexp.MustCompile(`(?m)^EnvironmentFile=.*$`)
	require.NotEqual(t, environment.FindString(service), environment.FindString(migration))

	analyze := installedProgram(t, "systemd-analyze")
	dir := t.TempDir()
	for name, text := range map[string]string{"feedback-server.service": service,
		"feedback-server-migrate.service": migration} {
		text = strings.ReplaceAll(text, "/usr/local/bin/feedback-server", "/bin/true") // it must exist
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, err := exec.Command(analyze, "verify", "--man=no", filepath.Join(dir, "feedback-server.service"),
		filepath.Join(dir, "feedback-server-migrate.service")).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "feedback-server", "warnings")
}
