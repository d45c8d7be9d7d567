package pgtest_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/freeport"
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

func TestPromotedStandbyHasEveryCommit(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t, pgtest.Options{TCP: true, Settings: map[string]string{"synchronous_commit": "on"}})
	addr := primary.Addr()
	for i := range 2 {
		free, err := freeport.Addr()
		require.NoError(t, err)
		standby := primary.Standby(t, free)
		conn, err := pgx.Connect(t.Context(), primary.URL())
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), fmt.Sprintf("create table kept_%d as select %d as n", i, i))
		require.NoError(t, err)
		primary.Kill()
		standby.Promote(t)
		primary = standby
		require.NotEqual(t, addr, primary.Addr())

		conn, err = pgx.Connect(t.Context(), primary.URL())
		require.NoError(t, err)
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), fmt.Sprintf("select n from kept_%d", i)).Scan(&n))
		require.Equal(t, i, n)
		require.NoError(t, conn.Close(t.Context()))
	}
}
