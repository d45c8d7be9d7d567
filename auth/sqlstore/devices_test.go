package sqlstore_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/sqlstore"
	"lessonkit.example/internal/testclock"
)

// devices runs a test on each engine, with a service, its clock and a user.
func devices(t *testing.T, test func(*testing.T, *sqlstore.Store, *auth.Service, *testclock.Clock, uuid.UUID)) {
	t.Helper()
	eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
		require.NoError(t, s.Migrate(t.Context()))
		clock := testclock.New(noon)
		service, err := auth.New(auth.Config{Store: s, Now: clock.Now})
		require.NoError(t, err)
		user, err := s.User(t.Context(), anna, noon)
		require.NoError(t, err)
		test(t, s, service, clock, user)
	})
}

func TestADeviceIsSignedInByWhoeverConfirmsItsCode(t *testing.T) {
	t.Parallel()
	devices(t, func(t *testing.T, _ *sqlstore.Store, s *auth.Service, _ *testclock.Clock, user uuid.UUID) {
		d, secret, err := s.StartDevice(t.Context(), "Firefox,\n Windows", "192.0.2.1")
		require.NoError(t, err)
		require.Regexp(t, "^[BCDFGHJKLMNPQRSTVWXZ]{6}$", d.Code)
		require.Equal(t, 2*time.Minute, d.ExpiresAt.Sub(d.CreatedAt))
		_, err = s.DeviceLogin(t.Context(), secret)
		require.ErrorIs(t, err, auth.ErrDevicePending)

		found, err := s.Device(t.Context(), " "+d.Code[:3]+"-"+d.Code[3:]+" ")
		require.NoError(t, err)
		require.Equal(t, d, found)
		require.Equal(t, "Firefox, Windows", found.Name)
		require.NoError(t, s.ConfirmDevice(t.Context(), user, d.Code))
		require.ErrorIs(t, s.ConfirmDevice(t.Context(), user, d.Code), auth.ErrDeviceCode, "confirmed once")
		_, err = s.Device(t.Context(), d.Code)
		require.ErrorIs(t, err, auth.ErrDeviceCode)
		_, err = s.DeviceLogin(t.Context(), d.Code)
		require.ErrorIs(t, err, auth.ErrDeviceCode, "the code alone signs nobody in")

		login, err := s.DeviceLogin(t.Context(), secret)
		require.NoError(t, err)
		require.Equal(t, user, login.UserID)
		_, err = s.DeviceLogin(t.Context(), secret)
		require.ErrorIs(t, err, auth.ErrDeviceCode, "replayed")
		_, err = s.Authenticate(t.Context(), secret)
		require.ErrorIs(t, err, auth.ErrInvalidToken, "the secret is no session")

		p, err := s.Authenticate(t.Context(), login.Token)
		require.NoError(t, err)
		sessions, err := s.Sessions(t.Context(), user)
		require.NoError(t, err)
		require.Equal(t, []auth.Session{{
			UserID: user, TokenHash: p.Session, Device: "Firefox, Windows",
			CreatedAt: login.CreatedAt, ExpiresAt: login.ExpiresAt,
		}}, sessions)
		require.ErrorIs(t, s.EndSession(t.Context(), uuid.New(), p.Session), auth.ErrNoSession, "of another user")
		require.NoError(t, s.EndSession(t.Context(), user, p.Session))
		_, err = s.Authenticate(t.Context(), login.Token)
		require.ErrorIs(t, err, auth.ErrInvalidToken)
	})
}

func TestADeviceCodeExpires(t *testing.T) {
	t.Parallel()
	devices(t, func(t *testing.T, store *sqlstore.Store, s *auth.Service, clock *testclock.Clock, user uuid.UUID) {
		d, _, err := s.StartDevice(t.Context(), "a", "")
		require.NoError(t, err)
		confirmed, secret, err := s.StartDevice(t.Context(), "b", "")
		require.NoError(t, err)
		require.NoError(t, s.ConfirmDevice(t.Context(), user, confirmed.Code))
		clock.Add(2 * time.Minute)
		_, err = s.Device(t.Context(), d.Code)
		require.ErrorIs(t, err, auth.ErrDeviceCode)
		require.ErrorIs(t, s.ConfirmDevice(t.Context(), user, d.Code), auth.ErrDeviceCode)
		_, err = s.DeviceLogin(t.Context(), secret)
		require.ErrorIs(t, err, auth.ErrDeviceCode, "also one that was confirmed")
		n := auth.NewDevice{Device: d, SecretHash: hash()}
		require.ErrorIs(t, store.CreateDevice(t.Context(), n, 2), auth.ErrRateLimited, "none has expired at noon")
		n.CreatedAt, n.ExpiresAt = clock.Now(), clock.Now().Add(time.Minute)
		require.NoError(t, store.CreateDevice(t.Context(), n, 1), "expired ones are deleted first")
		n.SecretHash = hash()
		require.Error(t, store.CreateDevice(t.Context(), n, 2), "the code is taken")
		_, err = store.DeleteExpired(t.Context(), n.ExpiresAt, 1)
		require.NoError(t, err)
		require.NoError(t, store.CreateDevice(t.Context(), n, 1), "the cleanup deletes them too")
	})
}

func TestOfTwoAtOnceOneConfirmsAndOneSignsIn(t *testing.T) {
	t.Parallel()
	devices(t, func(t *testing.T, store *sqlstore.Store, s *auth.Service, _ *testclock.Clock, user uuid.UUID) {
		other, err := store.User(t.Context(), ben, noon)
		require.NoError(t, err)
		d, secret, err := s.StartDevice(t.Context(), "a", "")
		require.NoError(t, err)
		confirm := race(t, func(i int) error {
			return s.ConfirmDevice(t.Context(), []uuid.UUID{user, other}[i%2], d.Code)
		})
		login := race(t, func(int) error {
			_, err := s.DeviceLogin(t.Context(), secret)
			return err
		})
		require.Equal(t, []int{1, 1}, []int{confirm, login})
	})
}

// race calls f from eight goroutines at once and returns how many calls succeed. The others fail
// with [auth.ErrDeviceCode].
func race(t *testing.T, f func(i int) error) int {
	t.Helper()
	var successes atomic.Int32
	require.NoError(t, concurrently(8, func(i int) error {
		err := f(i)
		if err == nil {
			successes.Add(1)
		} else if errors.Is(err, auth.ErrDeviceCode) {
			err = nil
		}
		return err
	}))
	return int(successes.Load())
}
