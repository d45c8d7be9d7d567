package authtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
)

func markUsed(t *testing.T, b *bench) {
	_, h := b.signIn(t, anna, b.now)
	_, other := b.signIn(t, ben, b.now)
	for _, step := range []struct{ at, want time.Duration }{
		{time.Minute, time.Minute},
		{time.Second, time.Minute},
		{time.Hour, time.Hour},
	} {
		require.NoError(t, b.MarkUsed(t.Context(), []auth.LastUse{{TokenHash: h, At: b.now.Add(step.at)}}))
		got, err := b.Session(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, b.now.Add(step.want), got.LastUsedAt)
		require.Equal(t, b.now.Add(time.Hour), got.ExpiresAt, "use must not extend a session")
	}
	got, err := b.Session(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, b.now, got.LastUsedAt)
	require.NoError(t, b.MarkUsed(t.Context(), nil))
}

func markUsedDeleted(t *testing.T, b *bench) {
	_, h := b.signIn(t, anna, b.now)
	_, stays := b.signIn(t, anna, b.now)
	require.NoError(t, b.DeleteSession(t.Context(), h))
	at := b.now.Add(time.Minute)
	require.NoError(t, b.MarkUsed(t.Context(), []auth.LastUse{{TokenHash: h, At: at}, {TokenHash: stays, At: at}}))
	require.False(t, b.has(t, h))
	got, err := b.Session(t.Context(), stays)
	require.NoError(t, err)
	require.Equal(t, at, got.LastUsedAt)
}

func deleteExpired(t *testing.T, b *bench) {
	for range 5 {
		b.signIn(t, anna, b.now.Add(-time.Hour))
	}
	_, live := b.signIn(t, anna, b.now.Add(time.Microsecond-time.Hour))
	var counts []int
	for range 4 {
		n, err := b.DeleteExpired(t.Context(), b.now, time.Time{}, 2)
		require.NoError(t, err)
		counts = append(counts, n)
	}
	require.Equal(t, []int{2, 2, 1, 0}, counts)
	require.True(t, b.has(t, live))
}

func deleteIdle(t *testing.T, b *bench) {
	_, idle := b.signIn(t, anna, b.now)
	_, used := b.signIn(t, anna, b.now)
	require.NoError(t, b.MarkUsed(t.Context(), []auth.LastUse{{TokenHash: used, At: b.now.Add(time.Microsecond)}}))
	n, err := b.DeleteExpired(t.Context(), b.now, b.now, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.False(t, b.has(t, idle))
	require.True(t, b.has(t, used))
}

func canceled(t *testing.T, b *bench) {
	_, h := b.signIn(t, anna, b.now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Session(ctx, h)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, auth.ErrUnavailable)
	require.ErrorIs(t, b.DeleteSession(ctx, h), context.Canceled)
	_, err = b.CreateSession(ctx, auth.NewSession{Identity: ben, TokenHash: hash(), CreatedAt: b.now, ExpiresAt: b.now.Add(time.Hour)})
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, b.has(t, h))
}
