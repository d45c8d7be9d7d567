package auth_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

func TestSignInEndsTheSessionItReplaces(t *testing.T) {
	t.Parallel()
	s := newService(t, auth.Config{Exchanger: exchange(func(_ context.Context, code string) (auth.Identity, error) {
		subject, _, _ := strings.Cut(code, "-")
		return auth.Identity{Platform: "p", Subject: subject}, nil
	})})
	login := func(code, old string) string {
		l, err := s.Relogin(t.Context(), code, old)
		require.NoError(t, err)
		return l.Token
	}
	good := func(token string) bool {
		_, err := s.Authenticate(t.Context(), token)
		return err == nil
	}
	first := login("anna-1", "")
	bens := login("ben-1", first)
	require.True(t, good(first), "another user's session ended")
	second := login("anna-2", first)
	require.False(t, good(first))
	third := login("anna-3", "nonsense")
	require.True(t, good(second) && good(third) && good(bens))
}

func TestIdentityTellsWhoAUserIs(t *testing.T) {
	t.Parallel()
	s := newService(t, auth.Config{Exchanger: exchange(everybody)})
	login, err := s.Login(t.Context(), "anna")
	require.NoError(t, err)
	id, err := s.Identity(t.Context(), login.UserID)
	require.NoError(t, err)
	require.Equal(t, auth.Identity{Platform: "miniapp", AppID: "app", Subject: "anna"}, id)
	_, err = s.Identity(t.Context(), uuid.New())
	require.ErrorIs(t, err, auth.ErrNoUser)
}

func TestSessionsOfAUserAreCapped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ configured, want int }{{0, 10}, {3, 3}, {-1, 15}} {
		t.Run(fmt.Sprint(c.configured), func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			s := newService(t, auth.Config{
				MaxSessions: c.configured,
				Now:         func() time.Time { return now },
				Exchanger: exchange(func(context.Context, string) (auth.Identity, error) {
					return auth.Identity{Platform: "p", Subject: "anna"}, nil
				}),
			})
			var tokens []string
			for i := range 15 {
				login, err := s.Login(t.Context(), fmt.Sprint("code-", i))
				require.NoError(t, err)
				tokens = append(tokens, login.Token)
				now = now.Add(time.Second)
			}
			for i, token := range tokens {
				_, err := s.Authenticate(t.Context(), token)
				require.Equal(t, i >= 15-c.want, err == nil, "session %d", i)
			}
		})
	}
}
