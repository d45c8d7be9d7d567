package auth_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

func TestSessionsOfAUserAreCapped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := newService(t, auth.Config{
		Now: func() time.Time { return now },
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
		require.Equal(t, i >= 5, err == nil, "session %d", i)
	}
}
