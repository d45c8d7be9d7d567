package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokenForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		token := newToken()
		require.Regexp(t, `^mps_[A-Za-z0-9_-]{43}[A-Za-z0-9]{6}$`, token)
		require.False(t, seen[token], "a token came twice")
		seen[token] = true
		random, err := base64.RawURLEncoding.DecodeString(token[4:47])
		require.NoError(t, err)
		require.Len(t, random, 32, "a token has 256 random bits")
		hash, ok := hashToken(token)
		require.True(t, ok)
		require.Equal(t, TokenHash(sha256.Sum256([]byte(token))), hash, "the hash is the SHA-256 of the whole token")
	}
}

func TestEveryChangedCharacterIsNoticed(t *testing.T) {
	t.Parallel()
	token := newToken()
	for i := range token {
		changed := []byte(token)
		changed[i] ^= 1
		_, ok := hashToken(string(changed))
		require.False(t, ok, "character %d", i)
	}
	for _, bad := range []string{"", "mps_", token[:52], token + "0", " " + token, token + " ", strings.ToUpper(token),
		token + "\n", "other" + token[5:]} {
		_, ok := hashToken(bad)
		require.False(t, ok, "%q", bad)
	}
}

// FuzzDevelopmentName sends any name: none becomes another platform's user.
func FuzzDevelopmentName(f *testing.F) {
	for _, seed := range []string{"", "anna", "a b", "\x00", "miniapp", strings.Repeat("a", 65), "ä", "anna\x00app"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		id, ok := developmentIdentity(name)
		require.Equal(t, developmentPlatform, id.Platform)
		if ok {
			require.True(t, id.Valid())
			require.Equal(t, name, id.Subject)
			require.Regexp(t, `^[A-Za-z0-9._@+-]{1,64}$`, name)
		}
	})
}

func TestGuessedTokensAreLookedUpOnceIfTheyAreWellFormed(t *testing.T) {
	t.Parallel()
	store := &emptyStore{}
	s, err := New(Config{Store: store})
	require.NoError(t, err)
	for range 1000 {
		token := newToken()
		for _, guess := range []string{token, token[:len(token)-1] + "!"} {
			_, err := s.Authenticate(t.Context(), guess)
			require.ErrorIs(t, err, ErrInvalidToken)
		}
	}
	require.EqualValues(t, 1000, store.lookups.Load())
}
