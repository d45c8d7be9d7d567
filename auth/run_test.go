package auth_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

func TestLastUseIsWrittenRarelyAndAside(t *testing.T) {
	t.Parallel()
	inner := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: inner, block: make(chan struct{})}
		s := newService(t, auth.Config{Store: store, Exchanger: exchange(everybody)})
		login := signIn(t, s)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()

		writes := store.written()
		for range 299 { // five minutes but a second
			time.Sleep(time.Second)
			_, err := s.AuthenticateToken(t.Context(), login.Token)
			require.NoError(t, err)
		}
		require.Equal(t, writes, store.written(), "written before it was due")

		for range 20 { // MarkUsed hangs meanwhile, and no request waits for it
			time.Sleep(time.Second)
			_, err := s.AuthenticateToken(t.Context(), login.Token)
			require.NoError(t, err)
		}
		require.Equal(t, writes+1, store.written(), "want one write for many uses")
		close(store.block)
		time.Sleep(10 * time.Second)
		session, err := inner.Session(t.Context(), sha256.Sum256([]byte(login.Token)))
		require.NoError(t, err)
		require.Greater(t, session.LastUsedAt.Sub(session.CreatedAt), 5*time.Minute-time.Microsecond)
		stop()
		require.NoError(t, <-done)
	})
}

func TestRunWritesWhatIsLeftWhenItEnds(t *testing.T) {
	t.Parallel()
	inner := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, auth.Config{Store: inner, Exchanger: exchange(everybody)})
		login := signIn(t, s)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(7*time.Minute + time.Second)
		used := time.Now().UTC()
		_, err := s.AuthenticateToken(t.Context(), login.Token)
		require.NoError(t, err)
		stop()
		require.NoError(t, <-done)
		session, err := inner.Session(t.Context(), sha256.Sum256([]byte(login.Token)))
		require.NoError(t, err)
		require.Equal(t, used, session.LastUsedAt)
	})
}

// failing is a store whose housekeeping fails for a while.
type failing struct {
	auth.Store
	marks    atomic.Int32
	failures int32
}

func (f *failing) MarkUsed(ctx context.Context, uses []auth.LastUse) error {
	if f.marks.Add(1) <= f.failures {
		return auth.Unavailable(errors.New("away"))
	}
	return f.Store.MarkUsed(ctx, uses)
}

func (f *failing) DeleteExpired(ctx context.Context, now, idle time.Time, limit int) (int, error) {
	if f.marks.Load() < f.failures {
		return 0, auth.Unavailable(errors.New("away"))
	}
	return f.Store.DeleteExpired(ctx, now, idle, limit)
}

func TestRunOutlivesAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	inner := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		store := &failing{Store: inner, failures: 3}
		s := newService(t, auth.Config{Store: store, Exchanger: exchange(everybody), LastUsedInterval: time.Minute})
		login := signIn(t, s)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(2 * time.Minute)
		used := time.Now().UTC()
		_, err := s.AuthenticateToken(t.Context(), login.Token)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.EqualValues(t, 4, store.marks.Load(), "want it tried until it worked")
		session, err := inner.Session(t.Context(), sha256.Sum256([]byte(login.Token)))
		require.NoError(t, err)
		require.Equal(t, used, session.LastUsedAt)
		stop()
		require.NoError(t, <-done)
	})
}

func TestRunDeletesExpiredSessionsHourly(t *testing.T) {
	t.Parallel()
	inner := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, auth.Config{Store: inner, Exchanger: exchange(everybody), Lifetime: 90 * time.Minute})
		login := signIn(t, s)
		hash := auth.TokenHash(sha256.Sum256([]byte(login.Token)))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(2*time.Hour - time.Second)
		_, err := inner.Session(t.Context(), hash)
		require.NoError(t, err, "want it still stored")
		time.Sleep(2 * time.Second)
		_, err = inner.Session(t.Context(), hash)
		require.ErrorIs(t, err, auth.ErrNoSession)
		stop()
		require.NoError(t, <-done)
	})
}

// silent is a store that does not answer any more.
type silent struct{ auth.Store }

func (silent) Session(ctx context.Context, _ auth.TokenHash) (auth.Session, error) {
	<-ctx.Done()
	return auth.Session{}, ctx.Err()
}

func (silent) DeleteExpired(ctx context.Context, _, _ time.Time, _ int) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestAStoreThatDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	inner := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		login := signIn(t, newService(t, auth.Config{Store: inner, Exchanger: exchange(everybody)}))
		s := newService(t, auth.Config{Store: silent{inner}, Exchanger: exchange(everybody), StoreTimeout: 3 * time.Second})
		for name, call := range map[string]func() error{
			"authenticate": func() error { _, err := s.AuthenticateToken(t.Context(), login.Token); return err },
			"login":        func() error { _, err := s.Login(t.Context(), "code"); return err },
		} {
			start := time.Now()
			err := call()
			require.ErrorIs(t, err, auth.ErrUnavailable, name)
			require.Equal(t, 3*time.Second, time.Since(start), name)
		}
		start := time.Now()
		_, err := s.Cleanup(t.Context())
		require.ErrorIs(t, err, auth.ErrUnavailable)
		require.Equal(t, time.Minute, time.Since(start))
	})
}

// backlog is a store with many expired sessions.
type backlog struct {
	auth.Store
	left   int
	limits []int
}

func (b *backlog) DeleteExpired(_ context.Context, _, _ time.Time, limit int) (int, error) {
	b.limits = append(b.limits, limit)
	n := min(limit, b.left)
	b.left -= n
	return n, nil
}

func TestCleanupGoesOnInBatchesUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	store := &backlog{left: 2500}
	n, err := newService(t, auth.Config{Store: store}).Cleanup(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2500, n)
	require.Equal(t, []int{1000, 1000, 1000}, store.limits)
}
