package sqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/db"
	"lessonkit.example/internal/pgtest"
)

func openSQLite(t *testing.T) *fixture {
	db, err := db.OpenSQLite(filepath.Join(t.TempDir(), "feedback.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return newFixture(t, db.W, func(o sqlstore.Outbox) *sqlstore.Store { return sqlstore.NewSQLite(db.W, db.R, o) })
}

func openPostgres(t *testing.T) *fixture {
	db := stdlib.OpenDBFromPool(pgtest.Pool(t))
	t.Cleanup(func() { db.Close() })
	f := newFixture(t, db, func(o sqlstore.Outbox) *sqlstore.Store { return sqlstore.NewPostgres(db, o) })
	f.postgres = true
	return f
}

// newFixture returns an empty store whose tasks are stored in a table of the same database, as a
// queue does.
func newFixture(t *testing.T, db *sql.DB, open func(sqlstore.Outbox) *sqlstore.Store) *fixture {
	f := &fixture{t: t, db: db, teacher: uuid.New(), now: time.Date(2026, 5, 31, 9, 0, 0, 123456000, time.UTC)}
	f.Store = open(func(ctx context.Context, tx *sql.Tx, task feedback.Task) error {
		if err := f.outbox.Load(); err != nil {
			return *err
		}
		args, err := json.Marshal(task)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `insert into jobs (id, args) values ($1, $2)`, uuid.NewString(), string(args))
		return err
	})
	require.NoError(t, f.Store.Migrate(t.Context()))
	_, err := db.ExecContext(t.Context(), `create table jobs (id text primary key, args text not null)`)
	require.NoError(t, err)
	return f
}

// Tasks returns all tasks committed since the previous call, in any order.
func (f *fixture) Tasks(t *testing.T) (tasks []feedback.Task) {
	rows, err := f.db.QueryContext(t.Context(), `delete from jobs returning args`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var args string
		var task feedback.Task
		require.NoError(t, rows.Scan(&args))
		require.NoError(t, json.Unmarshal([]byte(args), &task))
		tasks = append(tasks, task)
	}
	require.NoError(t, rows.Err())
	return tasks
}

// FailOutbox makes the outbox fail with an error from now on, or succeed again if it is nil.
func (f *fixture) FailOutbox(err error) {
	if err == nil {
		f.outbox.Store(nil)
	} else {
		f.outbox.Store(&err)
	}
}

func TestStoreBeforeMigrateSaysSo(t *testing.T) {
	t.Parallel()
	s, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "f.db"), nil)
	require.NoError(t, err)
	defer s.Close()
	ok, err := s.Migrated(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
	_, err = s.Profile(t.Context(), uuid.New(), uuid.New())
	require.ErrorIs(t, err, feedback.ErrUnavailable)
	require.ErrorContains(t, err, "run Migrate")
}

// An operator learns which disk is meant, and a teacher does not.
func TestAFileOnAFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	f := openSQLite(t)
	f.Store.Reserve = 1 << 60
	err := f.Store.CheckSpace(t.Context())
	require.ErrorIs(t, err, feedback.ErrStorageFull)
	require.Regexp(t, `feedback\.db: \d+ bytes are free, and \d+ needed`, err.Error())
	var refused *feedback.Error
	require.ErrorAs(t, err, &refused)
	require.NotContains(t, refused.Message, "feedback.db")
	f.Store.Reserve = -1
	require.NoError(t, f.Store.CheckSpace(t.Context()))
}

// afterQuery calls do once, at the end of the first statement that contains text.
type afterQuery struct {
	text string
	once sync.Once
	do   func()
}

func (a *afterQuery) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, a, strings.Contains(d.SQL, a.text))
}

func (a *afterQuery) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(a).(bool) {
		a.once.Do(a.do)
	}
}

// SQLite has a single writer.
func TestASessionIsOpenedWhileAnotherIsCompletedOrDeleted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		other func(f *fixture, p feedback.Profile, open feedback.Session) error
		want  error
	}{
		"completed": {func(f *fixture, p feedback.Profile, open feedback.Session) error {
			return f.insert(f.newRecord(p, "x", open.ID))
		}, nil},
		"deleted with its profile": {func(f *fixture, p feedback.Profile, _ feedback.Session) error {
			return f.Store.DeleteProfile(f.t.Context(), f.teacher, p.ID)
		}, feedback.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := pgx.ParseConfig(pgtest.URL(t))
			require.NoError(t, err)
			others := stdlib.OpenDB(*config)
			defer others.Close()
			f := newFixture(t, others, func(o sqlstore.Outbox) *sqlstore.Store {
				return sqlstore.NewPostgres(others, o)
			})
			p := f.profile("Ming")
			open := f.session(p)
			config.Tracer = &afterQuery{text: "insert into feedback_sessions", do: func() {
				require.NoError(t, test.other(f, p, open))
			}}
			db := stdlib.OpenDB(*config)
			defer db.Close()
			session := f.newSession(p)
			got, created, err := sqlstore.NewPostgres(db, nil).OpenSession(t.Context(), session)
			require.ErrorIs(t, err, test.want)
			require.Equal(t, test.want == nil, created)
			if created {
				require.Equal(t, session.ID, got.ID)
				require.Equal(t, feedback.SessionActive, got.State)
			}
		})
	}
}
