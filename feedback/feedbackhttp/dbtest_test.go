package feedbackhttp_test

import (
	"database/sql"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/db"
)

func openTestDB(t *testing.T, url string) *sql.DB {
	t.Helper()
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		db, err := db.OpenSQLite(path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		return db.W
	}
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}
