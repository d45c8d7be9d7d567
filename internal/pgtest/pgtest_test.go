package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
)

func TestDatabasesAreSeparate(t *testing.T) {
	t.Parallel()
	one, two := pgtest.Pool(t), pgtest.Pool(t)
	_, err := one.Exec(t.Context(), "create table only_here (id int)")
	require.NoError(t, err)
	_, err = two.Exec(t.Context(), "select * from only_here")
	require.Error(t, err)
}

func TestDurableServerKeepsCommitsThroughKill(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Options{Durable: true, TCP: true})
	require.NotEmpty(t, s.Addr())

	conn, err := pgx.Connect(t.Context(), s.URL())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "create table kept as select 7 as n")
	require.NoError(t, err)

	s.Kill()
	require.Error(t, conn.Ping(t.Context()))
	s.Restart(t)

	conn, err = pgx.Connect(t.Context(), s.URL())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), "select n from kept").Scan(&n))
	require.Equal(t, 7, n)
}
