package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"lessonkit.example/auth/sqlstore"
	"lessonkit.example/internal/pgtest"
)

func openSQLite(t *testing.T) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "auth.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func openPostgres(t *testing.T) *sqlstore.Store {
	t.Helper()
	return sqlstore.NewPostgres(stdlib.OpenDBFromPool(pgtest.Pool(t)))
}

var engines = map[string]func(*testing.T) *sqlstore.Store{"sqlite": openSQLite, "postgres": openPostgres}
