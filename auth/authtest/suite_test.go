package authtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"lessonkit.example/auth"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/sqlstore"
)

// broken is a store with one fault.
type broken struct {
	auth.Store
	fault string
	cache map[auth.TokenHash]auth.Session
}

func (b *broken) Teacher(ctx context.Context, id auth.Identity, now time.Time) (uuid.UUID, error) {
	return b.Store.Teacher(ctx, b.identity(id), now)
}

func (b *broken) identity(id auth.Identity) auth.Identity {
	switch b.fault {
	case "ignores the app":
		id.AppID = "x"
	case "ignores the platform":
		id.Platform = "x"
	case "folds letters":
		id.Subject = strings.ToLower(id.Subject)
	case "forgets the union id":
		id.UnionID = ""
	}
	return id
}

func (b *broken) CreateSession(ctx context.Context, n auth.NewSession) (uuid.UUID, error) {
	n.Identity = b.identity(n.Identity)
	switch b.fault {
	case "ignores the limit":
		n.MaxSessions = 0
	case "replaces anybody's session":
		if err := b.Store.DeleteSession(ctx, n.Replaces); err != nil {
			return uuid.Nil, err
		}
	case "replaces nothing":
		n.Replaces = auth.TokenHash{}
	case "keeps milliseconds":
		n.CreatedAt = n.CreatedAt.Truncate(time.Millisecond)
	case "goes on when canceled":
		ctx = context.WithoutCancel(ctx)
	case "overwrites a hash":
		if err := b.Store.DeleteSession(ctx, n.TokenHash); err != nil {
			return uuid.Nil, err
		}
	}
	return b.Store.CreateSession(ctx, n)
}

func (b *broken) Session(ctx context.Context, hash auth.TokenHash) (auth.Session, error) {
	session, err := b.Store.Session(ctx, hash)
	switch {
	case b.fault == "caches":
		if cached, ok := b.cache[hash]; ok {
			return cached, nil
		}
		if err == nil {
			b.cache[hash] = session
		}
	case b.fault == "has a clock" && session.ExpiresAt.Before(time.Now()):
		return auth.Session{}, auth.ErrNoSession
	}
	return session, err
}

func (b *broken) DeleteSessions(ctx context.Context, teacher uuid.UUID) (int, error) {
	if b.fault == "deletes nothing" {
		return 0, nil
	}
	return b.Store.DeleteSessions(ctx, teacher)
}

func (b *broken) DeleteExpired(ctx context.Context, now time.Time, limit int) (int, error) {
	switch b.fault {
	case "deletes all expired at once":
		limit = 1000
	case "deletes a little early":
		now = now.Add(time.Microsecond)
	}
	return b.Store.DeleteExpired(ctx, now, limit)
}

const faultVariable = "AUTHTEST_FAULT"

// TestBrokenStore is run by the next test, and fails when the suite is good.
func TestBrokenStore(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("run by TestTheSuiteFindsFaults")
	}
	authtest.StoreSuite(t, func(t *testing.T) auth.Store {
		s, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "auth.db"))
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		require.NoError(t, s.Migrate(t.Context()))
		return &broken{Store: s, fault: fault, cache: map[auth.TokenHash]auth.Session{}}
	})
}

func TestTheSuiteFindsFaults(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	for fault, rule := range map[string]string{
		"none":                        "",
		"ignores the app":             "platform,_app_and_subject_identify_a_teacher",
		"ignores the platform":        "platform,_app_and_subject_identify_a_teacher",
		"forgets the union id":        "a_teacher's_identity_is_returned",
		"folds letters":               "subjects_are_compared_byte_by_byte",
		"ignores the limit":           "the_oldest_sessions_beyond_the_limit_end",
		"replaces anybody's session":  "nobody_replaces_another_teacher's_session",
		"replaces nothing":            "a_replaced_session_ends",
		"keeps milliseconds":          "a_session_is_returned_as_it_was_stored",
		"goes on when canceled":       "a_canceled_context_ends_the_call",
		"overwrites a hash":           "a_hash_is_stored_once",
		"caches":                      "a_deleted_session_is_gone",
		"has a clock":                 "the_store_has_no_clock",
		"deletes nothing":             "all_sessions_of_one_teacher_end,_no_others_do",
		"deletes all expired at once": "expired_sessions_are_deleted_in_batches",
		"deletes a little early":      "the_store_has_no_clock",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestBrokenStore$", "-test.parallel=1")
			cmd.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := cmd.CombinedOutput()
			if rule == "" {
				require.NoError(t, err, "%s", out)
				return
			}
			require.Error(t, err, "the suite passed a store that %s", fault)
			require.Contains(t, string(out), "--- FAIL: TestBrokenStore/"+rule+" ")
		})
	}
}
