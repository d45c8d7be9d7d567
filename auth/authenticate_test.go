package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

// watched counts what a service asks of its store.
type watched struct {
	auth.Store

	mu      sync.Mutex
	lookups []auth.TokenHash
	writes  int
	fail    error
}

func (w *watched) wrote() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
}

func (w *watched) written() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes
}

func (w *watched) Session(ctx context.Context, hash auth.TokenHash) (auth.Session, error) {
	w.mu.Lock()
	w.lookups = append(w.lookups, hash)
	fail := w.fail
	w.mu.Unlock()
	if fail != nil {
		return auth.Session{}, fail
	}
	return w.Store.Session(ctx, hash)
}

func (w *watched) User(ctx context.Context, id auth.Identity, now time.Time) (uuid.UUID, error) {
	w.wrote()
	return w.Store.User(ctx, id, now)
}

func (w *watched) CreateSession(ctx context.Context, n auth.NewSession) (uuid.UUID, error) {
	w.wrote()
	return w.Store.CreateSession(ctx, n)
}

func (w *watched) DeleteSession(ctx context.Context, hash auth.TokenHash) error {
	w.wrote()
	return w.Store.DeleteSession(ctx, hash)
}

func signIn(t *testing.T, s *auth.Service) auth.Login {
	t.Helper()
	login, err := s.Login(t.Context(), rand.Text())
	require.NoError(t, err)
	return login
}

// invented is a token with a right checksum, which only the store can refuse.
func invented(random []byte) string {
	token := []byte("mps_" + base64.RawURLEncoding.EncodeToString(random))
	sum := crc32.ChecksumIEEE(token)
	var check [6]byte
	for i := 5; i >= 0; i-- {
		check[i] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[sum%62]
		sum /= 62
	}
	return string(append(token, check[:]...))
}

func TestGuessedTokensTouchNothing(t *testing.T) {
	t.Parallel()
	store := &watched{Store: openStore(t)}
	s := newService(t, auth.Config{Store: store, Exchanger: exchange(everybody)})
	login := signIn(t, s)
	before, err := store.Store.Session(t.Context(), sha256.Sum256([]byte(login.Token)))
	require.NoError(t, err)
	writes := store.written()
	store.lookups = nil
	random := make([]byte, 32)
	for i := range 10_000 {
		_, _ = rand.Read(random)
		token := invented(random)
		if i%2 == 0 {
			token = token[:len(token)-1] + "!" // and half of them malformed
		}
		_, err := s.Authenticate(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrInvalidToken)
	}
	require.Len(t, store.lookups, 5_000,
		"malformed tokens are rejected without a query, each other one is looked up once")
	require.Equal(t, writes, store.written(), "a guessed token made the store write")
	after, err := store.Store.Session(t.Context(), sha256.Sum256([]byte(login.Token)))
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = s.Authenticate(t.Context(), login.Token)
	require.NoError(t, err)
}

func TestAStolenRowIsNoToken(t *testing.T) {
	t.Parallel()
	s := newService(t, auth.Config{Exchanger: exchange(everybody)})
	login := signIn(t, s)
	hash := sha256.Sum256([]byte(login.Token))
	for _, token := range []string{
		string(hash[:]), hex.EncodeToString(hash[:]),
		base64.RawURLEncoding.EncodeToString(hash[:]), base64.StdEncoding.EncodeToString(hash[:]),
		"mps_" + hex.EncodeToString(hash[:]), invented(hash[:]),
	} {
		_, err := s.Authenticate(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrInvalidToken)
	}
}

// What is compared with secrets byte by byte could tell by its timing how far a
// guess is right. Here only the store compares, and what it gets of a guess is
// its SHA-256: a guess that is right but for one byte gets as little in common
// with the stored value as any other, and takes the same path to its refusal.
func TestNothingIsComparedWithTheTokensBytes(t *testing.T) {
	t.Parallel()
	store := &watched{Store: openStore(t)}
	s := newService(t, auth.Config{Store: store, Exchanger: exchange(everybody)})
	login := signIn(t, s)
	stored := sha256.Sum256([]byte(login.Token))
	random, err := base64.RawURLEncoding.DecodeString(login.Token[4:47])
	require.NoError(t, err)
	sameBits, samePrefix := 0, 0
	store.lookups = nil
	for i := range random {
		for bit := range 8 {
			guess := append([]byte(nil), random...)
			guess[i] ^= 1 << bit
			_, err := s.Authenticate(t.Context(), invented(guess))
			require.ErrorIs(t, err, auth.ErrInvalidToken)
		}
	}
	require.Len(t, store.lookups, 256, "there is one lookup for each guess, whichever byte is wrong")
	for _, asked := range store.lookups {
		for i := range asked {
			sameBits += 8 - bits.OnesCount8(asked[i]^stored[i])
		}
		if asked[0] == stored[0] && asked[1] == stored[1] {
			samePrefix++
		}
	}
	// 65,536 coins: 32,768 with a standard deviation of 128. Ten of them is never by chance.
	require.InDelta(t, 32_768, sameBits, 1_280, "what the store compares is related to the guess")
	require.LessOrEqual(t, samePrefix, 3)
}

func TestARevokedTokenIsDeadOnEveryNode(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	one := newService(t, auth.Config{Store: store, Exchanger: exchange(everybody)})
	two := newService(t, auth.Config{Store: store})
	for name, revoke := range map[string]func(auth.Login) error{
		"logout": func(l auth.Login) error { return one.Logout(t.Context(), l.Token) },
		"logout all": func(l auth.Login) error {
			n, err := one.LogoutAll(t.Context(), l.UserID)
			if n != 1 {
				return fmt.Errorf("ended %d sessions", n)
			}
			return err
		},
	} {
		login, other := signIn(t, one), signIn(t, one)
		for _, s := range []*auth.Service{one, two} {
			p, err := s.Authenticate(t.Context(), login.Token)
			require.NoError(t, err)
			require.Equal(t, auth.Principal{UserID: login.UserID, Method: auth.MethodSession,
				CreatedAt: login.CreatedAt, ExpiresAt: login.ExpiresAt}, p)
		}
		require.NoError(t, revoke(login), name)
		for _, s := range []*auth.Service{one, two} {
			_, err := s.Authenticate(t.Context(), login.Token)
			require.ErrorIs(t, err, auth.ErrInvalidToken, name)
			_, err = s.Authenticate(t.Context(), other.Token)
			require.NoError(t, err)
		}
		require.NoError(t, one.Logout(t.Context(), login.Token), "logging out twice is not an error")
	}
	require.NoError(t, one.Logout(t.Context(), "nonsense"))
}

func TestAStoreThatIsDownIsNotAWrongToken(t *testing.T) {
	t.Parallel()
	store := &watched{Store: openStore(t)}
	s := newService(t, auth.Config{Store: store, Exchanger: exchange(everybody)})
	login := signIn(t, s)
	for _, c := range []struct {
		fault       error
		unavailable bool
	}{
		{auth.Unavailable(errors.New("connection refused to 10.1.2.3")), true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{errors.New("syntax error at 10.1.2.3"), false},
	} {
		store.fail = c.fault
		_, err := s.Authenticate(t.Context(), login.Token)
		require.ErrorIs(t, err, c.fault)
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		require.Equal(t, c.unavailable, errors.Is(err, auth.ErrUnavailable))
	}
}

func TestDevelopmentSignInIsOffUnlessAllowed(t *testing.T) {
	t.Parallel()
	s := newService(t, auth.Config{})
	require.False(t, s.DevelopmentEnabled())
	_, err := s.AuthenticateDevelopment(t.Context(), "anna")
	require.ErrorIs(t, err, auth.ErrInvalidToken)
}
