package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokenForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		token := newToken("mps_")
		require.Regexp(t, `^mps_[A-Za-z0-9_-]{43}[A-Za-z0-9]{6}$`, token)
		require.False(t, seen[token], "a token came twice")
		seen[token] = true
		random, err := base64.RawURLEncoding.DecodeString(token[4:47])
		require.NoError(t, err)
		require.Len(t, random, 32, "want 256 random bits")
		hash, ok := hashToken("mps_", token)
		require.True(t, ok)
		require.Equal(t, TokenHash(sha256.Sum256([]byte(token))), hash, "want the SHA-256 of the whole token")
	}
}

func TestTokenWithEmptyPrefix(t *testing.T) {
	t.Parallel()
	_, ok := hashToken("", newToken(""))
	require.True(t, ok)
}

func TestEveryChangedCharacterIsNoticed(t *testing.T) {
	t.Parallel()
	token := newToken("mps_")
	for i := range token {
		changed := []byte(token)
		changed[i] ^= 1
		_, ok := hashToken("mps_", string(changed))
		require.False(t, ok, "character %d", i)
	}
	for _, bad := range []string{"", "mps_", token[:52], token + "0", " " + token, token + " ", strings.ToUpper(token), token + "\n", newToken("other_")} {
		_, ok := hashToken("mps_", bad)
		require.False(t, ok, "%q", bad)
	}
}

func TestBearerToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		header http.Header
		token  string
		err    error
	}{
		{"no header", nil, "", ErrNoToken},
		{"empty header", http.Header{"Authorization": {""}}, "", ErrNoToken},
		{"token", http.Header{"Authorization": {"Bearer abc"}}, "abc", nil},
		{"scheme in lower case", http.Header{"Authorization": {"bearer abc"}}, "abc", nil},
		{"scheme in upper case", http.Header{"Authorization": {"BEARER abc"}}, "abc", nil},
		{"another scheme", http.Header{"Authorization": {"Basic YTpi"}}, "", ErrNoToken},
		{"scheme alone", http.Header{"Authorization": {"Bearer"}}, "", nil},
		{"two spaces are part of the token, which is refused for it", http.Header{"Authorization": {"Bearer  abc"}}, " abc", nil},
		{"tab is no space", http.Header{"Authorization": {"Bearer\tabc"}}, "", ErrNoToken},
		{"two headers", http.Header{"Authorization": {"Bearer abc", "Bearer abc"}}, "", ErrInvalidToken},
		{"other headers", http.Header{"X-Authorization": {"Bearer abc"}, "Cookie": {"token=abc"}}, "", ErrNoToken},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			token, err := BearerToken(c.header)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.token, token)
		})
	}
}

// FuzzAuthorization sends any header values to a service whose store has one
// session: nothing but its token gets in, and nothing panics.
func FuzzAuthorization(f *testing.F) {
	store := &oneSession{}
	s, err := New(Config{Store: store, DevelopmentHeader: true})
	require.NoError(f, err)
	token := newToken("mps_")
	hash, _ := hashToken("mps_", token)
	store.hash = hash
	for _, seed := range []string{
		"", "Bearer", "Bearer ", "Bearer " + token, "bearer " + token + " ", token, "Basic " + token,
		"Bearer " + hex.EncodeToString(hash[:]), "Bearer " + base64.RawURLEncoding.EncodeToString(hash[:]),
		"Bearer " + token[:52], "Bearer mps_" + strings.Repeat("A", 49), "Bearer \x00\xff", "Bearer " + strings.Repeat("x", 1<<16),
	} {
		f.Add(seed, "")
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		h := http.Header{"Authorization": {first}}
		if second != "" {
			h["Authorization"] = append(h["Authorization"], second)
		}
		_, err := s.AuthenticateHeader(t.Context(), h)
		scheme, rest, _ := strings.Cut(first, " ")
		good := second == "" && strings.ToLower(scheme) == "bearer" && rest == token
		require.Equal(t, good, err == nil, "%q, %q: %v", first, second, err)
		if err != nil {
			require.NotContains(t, err.Error(), token[4:])
		}
	})
}

// FuzzDevelopmentName sends any name: none becomes another platform's user.
func FuzzDevelopmentName(f *testing.F) {
	for _, seed := range []string{"", "anna", "a b", "\x00", "miniapp", strings.Repeat("a", 65), "ä", "anna\x00app"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		id, ok := developmentIdentity(name)
		require.Equal(t, DevelopmentPlatform, id.Platform)
		if ok {
			require.True(t, id.Valid())
			require.Equal(t, name, id.Subject)
			require.Regexp(t, `^[A-Za-z0-9._@+-]{1,64}$`, name)
		}
	})
}
