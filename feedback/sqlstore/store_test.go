package sqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/internal/sqlitedb"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	feedbacktest.Store(t, func(t *testing.T) feedbacktest.Harness {
		db, err := sqlitedb.Open(filepath.Join(t.TempDir(), "feedback.db"))
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		return harness(t, db.W, func(o sqlstore.Outbox) *sqlstore.Store { return sqlstore.NewSQLite(db.W, db.R, o) })
	})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	feedbacktest.Store(t, func(t *testing.T) feedbacktest.Harness {
		pool := pgtest.Pool(t)
		db := stdlib.OpenDBFromPool(pool)
		t.Cleanup(func() { db.Close() })
		return harness(t, db, func(o sqlstore.Outbox) *sqlstore.Store {
			store, err := sqlstore.Open(t.Context(), pool.Config().ConnString(), o)
			require.NoError(t, err)
			t.Cleanup(func() { store.Close() })
			return store
		})
	})
}

// harness stores tasks in a table of the same database, as a queue does.
func harness(t *testing.T, db *sql.DB, open func(sqlstore.Outbox) *sqlstore.Store) feedbacktest.Harness {
	var fail atomic.Pointer[error]
	store := open(func(ctx context.Context, tx *sql.Tx, task feedback.Task) error {
		if err := fail.Load(); err != nil {
			return *err
		}
		args, err := json.Marshal(task)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `insert into jobs (id, args) values ($1, $2)`, uuid.NewString(), string(args))
		return err
	})
	require.NoError(t, store.Migrate(t.Context()))
	_, err := db.ExecContext(t.Context(), `create table jobs (id text primary key, args text not null)`)
	require.NoError(t, err)
	return feedbacktest.Harness{
		Store: store,
		Tasks: func(t *testing.T) (tasks []feedback.Task) {
			rows, err := db.QueryContext(t.Context(), `delete from jobs returning args`)
			require.NoError(t, err)
			defer rows.Close()
			for rows.Next() {
				var args string
				var task feedback.Task
				require.NoError(t, rows.Scan(&args))
				require.NoError(t, json.NewDecoder(strings.NewReader(args)).Decode(&task))
				tasks = append(tasks, task)
			}
			require.NoError(t, rows.Err())
			return tasks
		},
		FailOutbox: func(err error) {
			if err == nil {
				fail.Store(nil)
			} else {
				fail.Store(&err)
			}
		},
	}
}

func TestMigratedBeforeAndAfterMigrate(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "f.db"), "postgres": pgtest.URL(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := sqlstore.Open(t.Context(), url, nil)
			require.NoError(t, err)
			defer s.Close()
			ok, err := s.Migrated(t.Context())
			require.NoError(t, err)
			require.False(t, ok)
			_, err = s.Profile(t.Context(), uuid.New(), uuid.New())
			require.ErrorIs(t, err, feedback.ErrUnavailable)
			require.ErrorContains(t, err, "run Migrate")
			// Several processes that start concurrently.
			done := make(chan error, 3)
			for range 3 {
				go func() { done <- s.Migrate(t.Context()) }()
			}
			for range 3 {
				require.NoError(t, <-done)
			}
			ok, err = s.Migrated(t.Context())
			require.NoError(t, err)
			require.True(t, ok)
		})
	}
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
		other func(t *testing.T, s *sqlstore.Store, open feedback.Session) error
		want  error
	}{
		"completed": {func(t *testing.T, s *sqlstore.Store, open feedback.Session) error {
			_, _, err := s.InsertRecord(t.Context(), feedback.Record{ID: uuid.New(), TeacherID: open.TeacherID,
				ProfileID: open.ProfileID, SessionID: uuid.NullUUID{UUID: open.ID, Valid: true},
				Date: "2026-05-31", Content: "x", CreatedAt: open.CreatedAt}, nil)
			return err
		}, nil},
		"deleted with its profile": {func(t *testing.T, s *sqlstore.Store, open feedback.Session) error {
			return s.DeleteProfile(t.Context(), open.TeacherID, open.ProfileID)
		}, feedback.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			store, err := sqlstore.Open(t.Context(), url, nil)
			require.NoError(t, err)
			defer store.Close()
			require.NoError(t, store.Migrate(t.Context()))
			now := time.Now()
			profile := feedback.Profile{ID: uuid.New(), TeacherID: uuid.New(), Name: "Ming", CreatedAt: now,
				UpdatedAt: now}
			require.NoError(t, store.InsertProfile(t.Context(), profile))
			session := feedback.Session{ID: uuid.New(), TeacherID: profile.TeacherID, ProfileID: profile.ID,
				Date: "2026-05-31", CreatedAt: now, UpdatedAt: now}
			open, _, err := store.OpenSession(t.Context(), session)
			require.NoError(t, err)

			config, err := pgx.ParseConfig(url)
			require.NoError(t, err)
			overtaken := &afterQuery{text: "insert into feedback_sessions", do: func() {
				require.NoError(t, test.other(t, store, open))
			}}
			config.Tracer = overtaken
			db := stdlib.OpenDB(*config)
			defer db.Close()
			session.ID = uuid.New()
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
