package source_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/internal/source"
)

func TestTimeLimitFollowsTheDuration(t *testing.T) {
	t.Parallel()
	const shortest, longest = 5 * time.Minute, 30 * time.Minute
	for duration, want := range map[time.Duration]time.Duration{
		0: longest, time.Second: shortest, 31 * time.Second: 310 * time.Second, 2 * time.Minute: 20 * time.Minute,
		time.Hour: longest, 1 << 62: longest,
	} {
		require.Equal(t, want, source.TimeLimit(duration, 10, shortest, longest), duration)
	}
	require.Equal(t, time.Second, source.TimeLimit(time.Minute, 10, shortest, time.Second), "the longest wins")
}
