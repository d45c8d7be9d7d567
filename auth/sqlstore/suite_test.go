package sqlstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/sqlstore"
)

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T, *bench){
		"a session is returned as it was stored":     roundTrip,
		"a hash is stored once":                      hashIsUnique,
		"platform, app and subject identify a user":  userKey,
		"a user's identity is returned":              identity,
		"concurrent first sign-ins make one user":    concurrentFirstSignIns,
		"the store has no clock":                     noClock,
		"a replaced session ends":                    replaces,
		"nobody replaces another user's session":     replacesOthers,
		"the oldest sessions beyond the limit end":   limit,
		"concurrent sign-ins keep the limit":         concurrentLimit,
		"a deleted session is gone":                  deleteSession,
		"all sessions of one user end, no others do": deleteSessions,
		"a device that signs in meanwhile ends too":  deleteSessionsMeanwhile,
		"a deleted user is gone with its sessions":   deleteUser,
		"expired sessions are deleted in batches":    deleteExpired,
		"a canceled context ends the call":           canceled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, s *sqlstore.Store) {
				require.NoError(t, s.Migrate(t.Context()))
				test(t, &bench{Store: s, now: time.Date(2026, 3, 4, 5, 6, 7, 89_000, time.UTC)})
			})
		})
	}
}

// bench is a store under test, with the time of its sign-ins.
type bench struct {
	*sqlstore.Store
	now time.Time
}

var anna = auth.Identity{Platform: "miniapp", AppID: "app", Subject: "anna"}
var ben = auth.Identity{Platform: "miniapp", AppID: "app", Subject: "ben"}

func hash() (h auth.TokenHash) {
	_, _ = rand.Read(h[:])
	return h
}

// newSession returns a session that lasts an hour.
func (b *bench) newSession(id auth.Identity) auth.NewSession {
	return auth.NewSession{Identity: id, TokenHash: hash(), CreatedAt: b.now, ExpiresAt: b.now.Add(time.Hour)}
}

// signIn creates a session that lasts an hour.
func (b *bench) signIn(t *testing.T, id auth.Identity) (uuid.UUID, auth.TokenHash) {
	t.Helper()
	n := b.newSession(id)
	user, err := b.CreateSession(t.Context(), n)
	require.NoError(t, err)
	return user, n.TokenHash
}

func (b *bench) has(t *testing.T, h auth.TokenHash) bool {
	t.Helper()
	_, err := b.Session(t.Context(), h)
	if errors.Is(err, auth.ErrNoSession) {
		return false
	}
	require.NoError(t, err)
	return true
}

func roundTrip(t *testing.T, b *bench) {
	n := b.newSession(auth.Identity{Platform: "p", AppID: "a", Subject: "sübject-好", UnionID: "u"})
	n.ExpiresAt = b.now.Add(30*24*time.Hour + time.Microsecond)
	n.MaxSessions = 3
	user, err := b.CreateSession(t.Context(), n)
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, user)
	got, err := b.Session(t.Context(), n.TokenHash)
	require.NoError(t, err)
	require.Equal(t, auth.Session{
		UserID: user, TokenHash: n.TokenHash, CreatedAt: b.now, ExpiresAt: n.ExpiresAt,
	}, got)
}

func hashIsUnique(t *testing.T, b *bench) {
	user, h := b.signIn(t, anna)
	n := b.newSession(ben)
	n.TokenHash = h
	_, err := b.CreateSession(t.Context(), n)
	require.Error(t, err)
	got, err := b.Session(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, user, got.UserID, "the session's owner changed")
}

func userKey(t *testing.T, b *bench) {
	ids := map[uuid.UUID]auth.Identity{}
	list := []auth.Identity{
		anna, ben,
		{Platform: "other", AppID: "app", Subject: "anna"},
		{Platform: "miniapp", AppID: "app2", Subject: "anna"},
		{Platform: "miniapp", Subject: "anna"},
		{Platform: "development", Subject: "anna"},
		{Platform: "miniapp", AppID: "ap", Subject: "panna"},
	}
	for _, subject := range []string{"Anna", "ANNA", "anna'", `anna\`, "anna%", "é", "e\u0301", "ß", "ss"} {
		list = append(list, auth.Identity{Platform: "miniapp", AppID: "app", Subject: subject})
	}
	for _, id := range list {
		user, err := b.User(t.Context(), id, b.now)
		require.NoError(t, err)
		require.NotContains(t, ids, user, "%v is the same user as %v", id, ids[user])
		ids[user] = id

		again, err := b.User(t.Context(), id, b.now.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, user, again)
		id.UnionID = "union"
		signedIn, _ := b.signIn(t, id)
		require.Equal(t, user, signedIn)
	}
}

func identity(t *testing.T, b *bench) {
	id := auth.Identity{Platform: "p", AppID: "a", Subject: "sübject-好"}
	user, err := b.User(t.Context(), id, b.now)
	require.NoError(t, err)
	for _, step := range []struct{ given, want string }{
		{"", ""}, {"first", "first"}, {"", "first"}, {"second", "second"},
	} {
		id.UnionID = step.given
		b.signIn(t, id)
		got, err := b.Identity(t.Context(), user)
		require.NoError(t, err)
		require.Equal(t, auth.Identity{Platform: "p", AppID: "a", Subject: "sübject-好", UnionID: step.want}, got)
	}
	_, err = b.Identity(t.Context(), uuid.New())
	require.ErrorIs(t, err, auth.ErrNoUser)
}

// concurrently calls f n times at once and returns the errors.
func concurrently(n int, f func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errors.Join(errs...)
}

func concurrentFirstSignIns(t *testing.T, b *bench) {
	for round := range 5 {
		id := auth.Identity{Platform: "p", AppID: "a", Subject: fmt.Sprint("new-", round)}
		users := make([]uuid.UUID, 16)
		require.NoError(t, concurrently(len(users), func(i int) (err error) {
			if i%4 == 0 {
				users[i], err = b.User(t.Context(), id, b.now)
				return err
			}
			users[i], err = b.CreateSession(t.Context(), b.newSession(id))
			return err
		}))
		for _, user := range users {
			require.Equal(t, users[0], user)
		}
	}
}

func noClock(t *testing.T, b *bench) {
	for _, year := range []int{1999, 2999} {
		b.now = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		_, h := b.signIn(t, anna)
		require.True(t, b.has(t, h))
		n, err := b.DeleteExpired(t.Context(), b.now.Add(time.Hour-time.Microsecond), 10)
		require.NoError(t, err)
		require.Zero(t, n, "deleted before it expired")
		n, err = b.DeleteExpired(t.Context(), b.now.Add(time.Hour), 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
}

func replaces(t *testing.T, b *bench) {
	_, old := b.signIn(t, anna)
	_, other := b.signIn(t, anna)
	n := b.newSession(anna)
	n.Replaces = old
	_, err := b.CreateSession(t.Context(), n)
	require.NoError(t, err)
	require.False(t, b.has(t, old))
	require.True(t, b.has(t, other))
	require.True(t, b.has(t, n.TokenHash))
}

func replacesOthers(t *testing.T, b *bench) {
	_, annas := b.signIn(t, anna)
	n := b.newSession(ben)
	n.Replaces = annas
	_, err := b.CreateSession(t.Context(), n)
	require.NoError(t, err)
	require.True(t, b.has(t, annas))
}

func limit(t *testing.T, b *bench) {
	_, bens := b.signIn(t, ben)
	var hashes []auth.TokenHash
	for i := range 7 {
		b.now = b.now.Add(time.Microsecond)
		if i == 6 {
			b.now = b.now.Add(-time.Minute) // a clock that went back: the new session stays
		}
		n := b.newSession(anna)
		n.MaxSessions = 3
		_, err := b.CreateSession(t.Context(), n)
		require.NoError(t, err)
		hashes = append(hashes, n.TokenHash)
	}
	var kept []int
	for i, h := range hashes {
		if b.has(t, h) {
			kept = append(kept, i)
		}
	}
	require.Equal(t, []int{4, 5, 6}, kept)
	require.True(t, b.has(t, bens), "another user's session ended")
}

func concurrentLimit(t *testing.T, b *bench) {
	hashes := make([]auth.TokenHash, 12)
	require.NoError(t, concurrently(len(hashes), func(i int) error {
		n := b.newSession(anna)
		n.MaxSessions = 2
		hashes[i] = n.TokenHash
		_, err := b.CreateSession(t.Context(), n)
		return err
	}))
	kept := 0
	for _, h := range hashes {
		if b.has(t, h) {
			kept++
		}
	}
	require.Equal(t, 2, kept)
}

func deleteSession(t *testing.T, b *bench) {
	_, h := b.signIn(t, anna)
	_, other := b.signIn(t, anna)
	require.True(t, b.has(t, h)) // a store that caches it fails below
	for range 2 {
		require.NoError(t, b.DeleteSession(t.Context(), h))
		require.False(t, b.has(t, h))
	}
	require.True(t, b.has(t, other))
}

func deleteSessions(t *testing.T, b *bench) {
	user, first := b.signIn(t, anna)
	_, second := b.signIn(t, anna)
	other, bens := b.signIn(t, ben)
	require.True(t, b.has(t, first) && b.has(t, second))
	confirmed, bensConfirmed := b.confirmDevice(t, "BCDFGH", user), b.confirmDevice(t, "CDFGHJ", other)
	require.NoError(t, b.DeleteSessions(t.Context(), user))
	require.False(t, b.has(t, first) || b.has(t, second))
	require.True(t, b.has(t, bens))
	_, err := b.CreateDeviceSession(t.Context(), confirmed, b.newSession(auth.Identity{}))
	require.ErrorIs(t, err, auth.ErrDeviceCode, "a confirmed device would sign in again")
	_, err = b.CreateDeviceSession(t.Context(), bensConfirmed, b.newSession(auth.Identity{}))
	require.NoError(t, err)
	require.NoError(t, b.DeleteSessions(t.Context(), uuid.New()), "there are none")
}

func deleteSessionsMeanwhile(t *testing.T, b *bench) {
	user, _ := b.signIn(t, anna)
	for range 20 {
		secret, n := b.confirmDevice(t, "BCDFGH", user), b.newSession(auth.Identity{})
		require.NoError(t, concurrently(2, func(i int) (err error) {
			if i == 0 {
				err = b.DeleteSessions(t.Context(), user)
			} else if _, err = b.CreateDeviceSession(t.Context(), secret, n); errors.Is(err, auth.ErrDeviceCode) {
				err = nil
			}
			return err
		}))
		require.False(t, b.has(t, n.TokenHash))
	}
}

// confirmDevice creates a device that the user has confirmed, and returns the hash of its secret.
func (b *bench) confirmDevice(t *testing.T, code string, user uuid.UUID) auth.TokenHash {
	t.Helper()
	d := auth.Device{Code: code, CreatedAt: b.now, ExpiresAt: b.now.Add(time.Minute)}
	n := auth.NewDevice{Device: d, SecretHash: hash()}
	require.NoError(t, b.CreateDevice(t.Context(), n, 2))
	require.NoError(t, b.ConfirmDevice(t.Context(), code, user, b.now))
	return n.SecretHash
}

func deleteUser(t *testing.T, b *bench) {
	user, session := b.signIn(t, anna)
	other, bens := b.signIn(t, ben)
	require.NoError(t, b.DeleteUser(t.Context(), user))
	require.False(t, b.has(t, session))
	_, err := b.Identity(t.Context(), user)
	require.ErrorIs(t, err, auth.ErrNoUser)
	require.True(t, b.has(t, bens))
	_, err = b.Identity(t.Context(), other)
	require.NoError(t, err)
	require.NoError(t, b.DeleteUser(t.Context(), user), "again")
	again, _ := b.signIn(t, anna)
	require.NotEqual(t, user, again, "another user")
}

func deleteExpired(t *testing.T, b *bench) {
	start := b.now
	for range 5 {
		b.now = start.Add(-time.Hour)
		b.signIn(t, anna)
	}
	b.now = start.Add(time.Microsecond - time.Hour)
	_, live := b.signIn(t, anna)
	var counts []int
	for range 4 {
		n, err := b.DeleteExpired(t.Context(), start, 2)
		require.NoError(t, err)
		counts = append(counts, n)
	}
	require.Equal(t, []int{2, 2, 1, 0}, counts)
	require.True(t, b.has(t, live))
}

func canceled(t *testing.T, b *bench) {
	_, h := b.signIn(t, anna)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Session(ctx, h)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, auth.ErrUnavailable)
	require.ErrorIs(t, b.DeleteSession(ctx, h), context.Canceled)
	_, err = b.CreateSession(ctx, b.newSession(ben))
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, b.has(t, h))
}
