package authhttp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/sqlstore"
)

func TestBearerToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		header http.Header
		token  string
		err    error
	}{
		{"no header", nil, "", errNoToken},
		{"empty header", http.Header{"Authorization": {""}}, "", errNoToken},
		{"token", http.Header{"Authorization": {"Bearer abc"}}, "abc", nil},
		{"scheme in lower case", http.Header{"Authorization": {"bearer abc"}}, "abc", nil},
		{"scheme in upper case", http.Header{"Authorization": {"BEARER abc"}}, "abc", nil},
		{"another scheme", http.Header{"Authorization": {"Basic YTpi"}}, "", errNoToken},
		{"scheme alone", http.Header{"Authorization": {"Bearer"}}, "", errNoToken},
		{"scheme and spaces", http.Header{"Authorization": {"Bearer  "}}, "", errNoToken},
		{"two spaces are part of the token, which is refused for it", http.Header{"Authorization": {"Bearer  abc"}},
			" abc", nil},
		{"tab is not a space", http.Header{"Authorization": {"Bearer\tabc"}}, "", errNoToken},
		{"two headers", http.Header{"Authorization": {"Bearer abc", "Bearer abc"}}, "", auth.ErrInvalidToken},
		{"other headers", http.Header{"X-Authorization": {"Bearer abc"}, "Cookie": {"token=abc"}}, "", errNoToken},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			token, err := bearerToken(c.header)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.token, token)
		})
	}
}

// everybody accepts every code.
type everybody struct{}

func (everybody) Exchange(_ context.Context, code string) (auth.Identity, error) {
	return auth.Identity{Platform: "p", Subject: code}, nil
}

// FuzzAuthorization sends any header values to a service with one session: nothing but its token
// is accepted, and nothing panics.
func FuzzAuthorization(f *testing.F) {
	store, err := sqlstore.Open(f.Context(), "sqlite:"+filepath.Join(f.TempDir(), "auth.db"))
	require.NoError(f, err)
	f.Cleanup(func() { store.Close() })
	require.NoError(f, store.Migrate(f.Context()))
	s, err := auth.New(auth.Config{Store: store, Exchanger: everybody{}, AllowDevelopment: true})
	require.NoError(f, err)
	login, err := s.Login(f.Context(), "code")
	require.NoError(f, err)
	token := login.Token
	hash := sha256.Sum256([]byte(token))
	for _, seed := range []string{
		"", "Bearer", "Bearer ", "Bearer " + token, "bearer " + token + " ", token, "Basic " + token,
		"Bearer " + hex.EncodeToString(hash[:]), "Bearer " + base64.RawURLEncoding.EncodeToString(hash[:]),
		"Bearer " + token[:52], "Bearer mps_" + strings.Repeat("A", 49), "Bearer \x00\xff",
		"Bearer " + strings.Repeat("x", 1<<16),
	} {
		f.Add(seed, "")
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		h := http.Header{"Authorization": {first}}
		if second != "" {
			h["Authorization"] = append(h["Authorization"], second)
		}
		_, err := authenticate(t.Context(), s, h)
		scheme, rest, _ := strings.Cut(first, " ")
		good := second == "" && strings.ToLower(scheme) == "bearer" && rest == token
		require.Equal(t, good, err == nil, "%q, %q: %v", first, second, err)
		if err != nil {
			require.NotContains(t, err.Error(), token[4:])
		}
	})
}
