package auth_test

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

func TestRunDeletesExpiredSessionsHourly(t *testing.T) {
	t.Parallel()
	inner := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, auth.Config{Store: inner, Exchanger: exchange(everybody)})
		login := signIn(t, s)
		time.Sleep(30*24*time.Hour - 90*time.Minute)
		hash := auth.TokenHash(sha256.Sum256([]byte(login.Token)))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(2*time.Hour - time.Second)
		_, err := inner.Session(t.Context(), hash)
		require.NoError(t, err, "it is still stored")
		time.Sleep(2 * time.Second)
		_, err = inner.Session(t.Context(), hash)
		require.ErrorIs(t, err, auth.ErrNoSession)
		stop()
		require.NoError(t, <-done)
	})
}

// silent is a store that does not answer.
type silent struct {
	auth.Store
	cleanup chan time.Duration // receives how long each DeleteExpired waited
}

func (silent) Session(ctx context.Context, _ auth.TokenHash) (auth.Session, error) {
	<-ctx.Done()
	return auth.Session{}, ctx.Err()
}

func (s silent) DeleteExpired(ctx context.Context, _ time.Time, _ int) (int, error) {
	start := time.Now()
	<-ctx.Done()
	s.cleanup <- time.Since(start)
	return 0, ctx.Err()
}

func TestAStoreThatDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	inner := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		login := signIn(t, newService(t, auth.Config{Store: inner, Exchanger: exchange(everybody)}))
		store := silent{inner, make(chan time.Duration)}
		s := newService(t, auth.Config{Store: store, Exchanger: exchange(everybody)})
		for name, call := range map[string]func() error{
			"authenticate": func() error { _, err := s.Authenticate(t.Context(), login.Token); return err },
			"login":        func() error { _, err := s.Login(t.Context(), "code"); return err },
		} {
			start := time.Now()
			err := call()
			require.ErrorIs(t, err, auth.ErrUnavailable, name)
			require.Equal(t, 5*time.Second, time.Since(start), name)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		require.Equal(t, time.Minute, <-store.cleanup)
		require.Equal(t, time.Minute, <-store.cleanup, "the next clean-up")
		stop()
		require.NoError(t, <-done)
	})
}

// backlog is a store with many expired sessions.
type backlog struct {
	auth.Store
	left   int
	limits []int
}

func (b *backlog) DeleteExpired(_ context.Context, _ time.Time, limit int) (int, error) {
	b.limits = append(b.limits, limit)
	n := min(limit, b.left)
	b.left -= n
	return n, nil
}

func TestRunDeletesInBatchesUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &backlog{left: 2500}
		var log strings.Builder
		s := newService(t, auth.Config{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		require.NoError(t, s.Run(ctx))
		require.Zero(t, store.left)
		require.Equal(t, []int{1000, 1000, 1000}, store.limits)
		require.Contains(t, log.String(), "count=2500")
	})
}
