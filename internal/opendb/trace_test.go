package opendb_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/opendb"
	"lessonkit.example/internal/pgtest"
)

// traceKey is the key of a value that a trace adds to the context of a statement.
type traceKey struct{}

// traced are the statements that a trace was called for, and how they ended.
type traced struct {
	mu         sync.Mutex
	statements []string
	errors     []error
}

func (t *traced) begin(ctx context.Context, statement string) (context.Context, func(error)) {
	if ctx.Value(traceKey{}) == nil {
		return ctx, nil // not traced
	}
	return ctx, func(err error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.statements, t.errors = append(t.statements, statement), append(t.errors, err)
	}
}

func TestTraceIsCalledOnceForEachStatement(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "postgres": pgtest.URL(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got traced
			db, err := opendb.OpenTraced(t.Context(), url, got.begin)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			_, err = db.W.ExecContext(t.Context(), "create table t (id bigint primary key)")
			require.NoError(t, err)

			ctx := context.WithValue(t.Context(), traceKey{}, true)
			tx, err := db.W.Begin()
			require.NoError(t, err)
			_, err = tx.ExecContext(ctx, "insert into t values ($1), ($2)", 1, 2)
			require.NoError(t, err)
			require.NoError(t, tx.Commit())
			_, err = db.W.ExecContext(ctx, "insert into t values ($1)", 1)
			require.Error(t, err)
			rows, err := db.QueryContext(ctx, "select id from t where id >= $1", 1)
			require.NoError(t, err)
			require.Len(t, got.statements, 2, "the third has not ended")
			for rows.Next() {
				require.NoError(t, rows.Err())
			}
			require.NoError(t, rows.Close())
			var id int
			require.NoError(t, db.QueryRowContext(ctx, "select max(id) from t").Scan(&id))
			require.Equal(t, 2, id)
			_, err = db.R.QueryContext(ctx, "select nothing from nowhere")
			require.Error(t, err)

			require.Equal(t, []string{"insert into t values ($1), ($2)", "insert into t values ($1)",
				"select id from t where id >= $1", "select max(id) from t", "select nothing from nowhere"},
				got.statements)
			for i, failed := range []bool{false, true, false, false, true} {
				require.Equal(t, failed, got.errors[i] != nil, got.statements[i])
			}
			if db.Pool == nil {
				return
			}
			var batch pgx.Batch
			batch.Queue("select 1")
			batch.Queue("select 2")
			require.NoError(t, db.Pool.SendBatch(ctx, &batch).Close())
			require.Equal(t, "select 1; select 2", got.statements[5])
		})
	}
}
