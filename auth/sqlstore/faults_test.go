package sqlstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/sqlstore"
	"lessonkit.example/internal/pgtest"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func session(subject string) auth.NewSession {
	return auth.NewSession{
		Identity:  auth.Identity{Platform: "p", AppID: "a", Subject: subject},
		TokenHash: sha256.Sum256([]byte(subject)),
		CreatedAt: noon, ExpiresAt: noon.Add(time.Hour), MaxSessions: 5,
	}
}

func eachEngine(t *testing.T, test func(t *testing.T, s *sqlstore.Store)) {
	t.Helper()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func TestAnUnmigratedDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		ok, err := s.Migrated(t.Context())
		require.NoError(t, err)
		require.False(t, ok)
		_, err = s.Session(t.Context(), auth.TokenHash{1})
		require.ErrorIs(t, err, auth.ErrUnavailable)
		require.ErrorContains(t, err, "run Migrate")
		_, err = s.CreateSession(t.Context(), session("anna"))
		require.ErrorIs(t, err, auth.ErrUnavailable)

		require.NoError(t, s.Migrate(t.Context())) // the store that was asked too early works
		_, err = s.CreateSession(t.Context(), session("anna"))
		require.NoError(t, err)
		_, err = s.Session(t.Context(), session("anna").TokenHash)
		require.NoError(t, err)
	})
}

func TestALostPostgresIsUnavailableUntilItIsBack(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	s, err := sqlstore.Open(t.Context(), server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	require.NoError(t, s.Migrate(t.Context()))
	n := session("anna")
	_, err = s.CreateSession(t.Context(), n)
	require.NoError(t, err)

	server.Kill()
	for operation, call := range map[string]func() error{
		"session":         func() error { _, err := s.Session(t.Context(), n.TokenHash); return err },
		"user":            func() error { _, err := s.User(t.Context(), n.Identity, noon); return err },
		"identity":        func() error { _, err := s.Identity(t.Context(), [16]byte{1}); return err },
		"create session":  func() error { _, err := s.CreateSession(t.Context(), session("ben")); return err },
		"delete session":  func() error { return s.DeleteSession(t.Context(), n.TokenHash) },
		"delete expired":  func() error { _, err := s.DeleteExpired(t.Context(), noon, 10); return err },
		"migrated":        func() error { _, err := s.Migrated(t.Context()); return err },
		"migrate":         func() error { return s.Migrate(t.Context()) },
		"delete user":     func() error { return s.DeleteUser(t.Context(), [16]byte{1}) },
		"delete sessions": func() error { return s.DeleteSessions(t.Context(), [16]byte{1}) },
	} {
		err := call()
		require.ErrorIs(t, err, auth.ErrUnavailable, operation)
		var later interface{ RetryAfter() time.Duration }
		require.ErrorAs(t, err, &later)
		require.Positive(t, later.RetryAfter())
	}

	server.Restart(t)
	require.Eventually(t, func() bool { // connections that died are found out one by one
		_, err := s.Session(t.Context(), n.TokenHash)
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

// As behind a cut line: connections open, and nothing ever answers. A program may start then.
func TestASilentPostgresIsUnavailable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	s, err := sqlstore.Open(t.Context(), "postgres://u@"+l.Addr().String()+"/db?sslmode=disable")
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	service, err := auth.New(auth.Config{Store: s, AllowDevelopment: true})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = service.AuthenticateDevelopment(ctx, "anna")
	require.ErrorIs(t, err, auth.ErrUnavailable)
}

// Two programs on one file, as a server and an administrator's command.
func TestTwoProgramsShareAFile(t *testing.T) {
	t.Parallel()
	path := "sqlite:" + filepath.Join(t.TempDir(), "auth.db")
	var stores []*sqlstore.Store
	for range 2 {
		s, err := sqlstore.Open(t.Context(), path)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		require.NoError(t, s.Migrate(t.Context()))
		stores = append(stores, s)
	}
	require.NoError(t, concurrently(40, func(i int) error {
		n := session("anna")
		n.TokenHash[0] = byte(i)
		_, err := stores[i%2].CreateSession(t.Context(), n)
		return err
	}))
	user, err := stores[0].User(t.Context(), session("anna").Identity, noon)
	require.NoError(t, err)
	left, err := stores[1].Sessions(t.Context(), user, noon)
	require.NoError(t, err)
	require.Len(t, left, 5)
}

// The file cannot be used to sign in.
func TestTheFileHoldsNoToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(dir, "auth.db"))
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	service, err := auth.New(auth.Config{Store: store, Exchanger: everybody{}})
	require.NoError(t, err)
	login, err := service.Login(t.Context(), "the-one-time-code")
	require.NoError(t, err)
	require.NoError(t, store.Close())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	hash := sha256.Sum256([]byte(login.Token))
	found := false
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		require.False(t, bytes.Contains(data, []byte(login.Token)), "the token is in %s", f.Name())
		require.False(t, bytes.Contains(data, []byte(login.Token[4:47])), "the token's body is in %s", f.Name())
		require.False(t, bytes.Contains(data, []byte("the-one-time-code")))
		found = found || bytes.Contains(data, hash[:])
	}
	require.True(t, found, "the token's SHA-256 is stored")
}

type everybody struct{}

func (everybody) Exchange(context.Context, string) (auth.Identity, error) {
	return auth.Identity{Platform: "p", Subject: "anna"}, nil
}
