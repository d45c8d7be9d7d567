package authtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

// StoreSuite proves that a store keeps the promises of [auth.Store]. open
// returns an empty store that is ready for use, a new one for each call; what
// it opens it closes by t.Cleanup.
func StoreSuite(t *testing.T, open func(t *testing.T) auth.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *bench){
		"a session comes back as it was stored":         roundTrip,
		"an unknown hash has no session":                unknownHash,
		"a hash is stored once":                         hashIsUnique,
		"platform, app and subject make a teacher":      teacherKey,
		"a teacher's identity comes back":               identity,
		"subjects are compared byte by byte":            subjectsAreBytes,
		"first sign-ins at once make one teacher":       firstSignInsAtOnce,
		"the store has no clock":                        noClock,
		"a replaced session ends":                       replaces,
		"nobody replaces another teacher's session":     replacesOthers,
		"the oldest sessions beyond the limit end":      limit,
		"sign-ins at once keep the limit":               limitAtOnce,
		"a deleted session is gone":                     deleteSession,
		"all sessions of one teacher end, no others do": deleteSessions,
		"last use moves forward only":                   markUsed,
		"last use brings nothing back":                  markUsedDeleted,
		"expired sessions are deleted in batches":       deleteExpired,
		"idle sessions are deleted":                     deleteIdle,
		"a canceled context ends the call":              canceled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &bench{Store: open(t), now: time.Date(2026, 3, 4, 5, 6, 7, 89_000, time.UTC)})
		})
	}
}

// bench is a store under test, with a time to start from.
type bench struct {
	auth.Store
	now time.Time
}

var anna = auth.Identity{Platform: "miniapp", AppID: "app", Subject: "anna"}
var ben = auth.Identity{Platform: "miniapp", AppID: "app", Subject: "ben"}

func hash() (h auth.TokenHash) {
	_, _ = rand.Read(h[:])
	return h
}

// signIn creates a session that lasts an hour.
func (b *bench) signIn(t *testing.T, id auth.Identity, at time.Time) (uuid.UUID, auth.TokenHash) {
	t.Helper()
	h := hash()
	teacher, err := b.CreateSession(t.Context(), auth.NewSession{Identity: id, TokenHash: h, CreatedAt: at, ExpiresAt: at.Add(time.Hour)})
	require.NoError(t, err)
	return teacher, h
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
	h := hash()
	expires := b.now.Add(30*24*time.Hour + time.Microsecond)
	teacher, err := b.CreateSession(t.Context(), auth.NewSession{
		Identity:  auth.Identity{Platform: "p", AppID: "a", Subject: "sübject-好", UnionID: "u"},
		TokenHash: h, CreatedAt: b.now, ExpiresAt: expires, MaxSessions: 3,
	})
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, teacher)
	got, err := b.Session(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, auth.Session{TeacherID: teacher, CreatedAt: b.now, ExpiresAt: expires, LastUsedAt: b.now}, got)
}

func unknownHash(t *testing.T, b *bench) {
	_, h := b.signIn(t, anna, b.now)
	h[31] ^= 1
	_, err := b.Session(t.Context(), h)
	require.ErrorIs(t, err, auth.ErrNoSession)
}

func hashIsUnique(t *testing.T, b *bench) {
	teacher, h := b.signIn(t, anna, b.now)
	_, err := b.CreateSession(t.Context(), auth.NewSession{Identity: ben, TokenHash: h, CreatedAt: b.now, ExpiresAt: b.now.Add(time.Hour)})
	require.Error(t, err)
	got, err := b.Session(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, teacher, got.TeacherID, "the session's owner changed")
}

func teacherKey(t *testing.T, b *bench) {
	ids := map[uuid.UUID]auth.Identity{}
	for _, id := range []auth.Identity{
		anna, ben,
		{Platform: "other", AppID: "app", Subject: "anna"},
		{Platform: "miniapp", AppID: "app2", Subject: "anna"},
		{Platform: "miniapp", Subject: "anna"},
		{Platform: auth.DevelopmentPlatform, Subject: "anna"},
		{Platform: "miniapp", AppID: "ap", Subject: "panna"},
	} {
		teacher, err := b.Teacher(t.Context(), id, b.now)
		require.NoError(t, err)
		require.NotContains(t, ids, teacher, "%v is the same teacher as %v", id, ids[teacher])
		ids[teacher] = id

		again, err := b.Teacher(t.Context(), id, b.now.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, teacher, again)
		id.UnionID = "union"
		signedIn, _ := b.signIn(t, id, b.now)
		require.Equal(t, teacher, signedIn)
	}
}

func identity(t *testing.T, b *bench) {
	id := auth.Identity{Platform: "p", AppID: "a", Subject: "sübject-好"}
	teacher, err := b.Teacher(t.Context(), id, b.now)
	require.NoError(t, err)
	for _, step := range []struct{ given, want string }{{"", ""}, {"first", "first"}, {"", "first"}, {"second", "second"}} {
		id.UnionID = step.given
		b.signIn(t, id, b.now)
		got, err := b.Identity(t.Context(), teacher)
		require.NoError(t, err)
		require.Equal(t, auth.Identity{Platform: "p", AppID: "a", Subject: "sübject-好", UnionID: step.want}, got)
	}
	_, err = b.Identity(t.Context(), uuid.New())
	require.ErrorIs(t, err, auth.ErrNoTeacher)
}

func subjectsAreBytes(t *testing.T, b *bench) {
	seen := map[uuid.UUID]string{}
	for _, subject := range []string{"Subject", "subject", "SUBJECT", "subject'", `subject\`, "subject%", "é", "e\u0301", "ß", "ss"} {
		teacher, err := b.Teacher(t.Context(), auth.Identity{Platform: "p", Subject: subject}, b.now)
		require.NoError(t, err)
		require.NotContains(t, seen, teacher, "%q is the same teacher as %q", subject, seen[teacher])
		seen[teacher] = subject
	}
}

// atOnce calls f n times at once and returns the first error.
func atOnce(n int, f func(i int) error) error {
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

func firstSignInsAtOnce(t *testing.T, b *bench) {
	for round := range 5 {
		id := auth.Identity{Platform: "p", AppID: "a", Subject: fmt.Sprint("new-", round)}
		teachers := make([]uuid.UUID, 16)
		require.NoError(t, atOnce(len(teachers), func(i int) (err error) {
			if i%4 == 0 {
				teachers[i], err = b.Teacher(t.Context(), id, b.now)
				return err
			}
			teachers[i], err = b.CreateSession(t.Context(), auth.NewSession{Identity: id, TokenHash: hash(), CreatedAt: b.now, ExpiresAt: b.now.Add(time.Hour)})
			return err
		}))
		for _, teacher := range teachers {
			require.Equal(t, teachers[0], teacher)
		}
	}
}

func noClock(t *testing.T, b *bench) {
	for _, at := range []time.Time{time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, h := b.signIn(t, anna, at)
		require.True(t, b.has(t, h))
		n, err := b.DeleteExpired(t.Context(), at.Add(time.Hour-time.Microsecond), time.Time{}, 10)
		require.NoError(t, err)
		require.Zero(t, n, "deleted before it expired")
		n, err = b.DeleteExpired(t.Context(), at.Add(time.Hour), time.Time{}, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
}

func replaces(t *testing.T, b *bench) {
	_, old := b.signIn(t, anna, b.now)
	_, other := b.signIn(t, anna, b.now)
	h := hash()
	_, err := b.CreateSession(t.Context(), auth.NewSession{Identity: anna, TokenHash: h, CreatedAt: b.now, ExpiresAt: b.now.Add(time.Hour), Replaces: old})
	require.NoError(t, err)
	require.False(t, b.has(t, old))
	require.True(t, b.has(t, other))
	require.True(t, b.has(t, h))
}

func replacesOthers(t *testing.T, b *bench) {
	_, annas := b.signIn(t, anna, b.now)
	_, err := b.CreateSession(t.Context(), auth.NewSession{Identity: ben, TokenHash: hash(), CreatedAt: b.now, ExpiresAt: b.now.Add(time.Hour), Replaces: annas})
	require.NoError(t, err)
	require.True(t, b.has(t, annas))
}

func limit(t *testing.T, b *bench) {
	_, bens := b.signIn(t, ben, b.now.Add(-time.Hour))
	var hashes []auth.TokenHash
	for i := range 7 {
		h := hash()
		at := b.now.Add(time.Duration(i) * time.Microsecond)
		if i == 6 {
			at = b.now.Add(-time.Minute) // a clock that went back: the new session stays all the same
		}
		_, err := b.CreateSession(t.Context(), auth.NewSession{Identity: anna, TokenHash: h, CreatedAt: at, ExpiresAt: at.Add(time.Hour), MaxSessions: 3})
		require.NoError(t, err)
		hashes = append(hashes, h)
	}
	var kept []int
	for i, h := range hashes {
		if b.has(t, h) {
			kept = append(kept, i)
		}
	}
	require.Equal(t, []int{4, 5, 6}, kept)
	require.True(t, b.has(t, bens), "another teacher's session ended")
}

func limitAtOnce(t *testing.T, b *bench) {
	hashes := make([]auth.TokenHash, 12)
	require.NoError(t, atOnce(len(hashes), func(i int) error {
		hashes[i] = hash()
		_, err := b.CreateSession(t.Context(), auth.NewSession{Identity: anna, TokenHash: hashes[i], CreatedAt: b.now, ExpiresAt: b.now.Add(time.Hour), MaxSessions: 2})
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
	_, h := b.signIn(t, anna, b.now)
	_, other := b.signIn(t, anna, b.now)
	require.True(t, b.has(t, h)) // a store that remembers it is found out below
	for range 2 {
		require.NoError(t, b.DeleteSession(t.Context(), h))
		require.False(t, b.has(t, h))
	}
	require.True(t, b.has(t, other))
}

func deleteSessions(t *testing.T, b *bench) {
	teacher, first := b.signIn(t, anna, b.now)
	_, second := b.signIn(t, anna, b.now)
	_, bens := b.signIn(t, ben, b.now)
	require.True(t, b.has(t, first) && b.has(t, second))
	n, err := b.DeleteSessions(t.Context(), teacher)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.False(t, b.has(t, first) || b.has(t, second))
	require.True(t, b.has(t, bens))
	n, err = b.DeleteSessions(t.Context(), uuid.New())
	require.NoError(t, err)
	require.Zero(t, n)
}
