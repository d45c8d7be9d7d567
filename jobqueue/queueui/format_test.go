package queueui

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0", count(0))
	require.Equal(t, "9\u202F999", count(9999))
	require.Equal(t, "10\u202F000+", count(10_001))
	for d, want := range map[time.Duration]string{
		0: "0 ms", -time.Hour: "0 ms", 1500 * time.Millisecond: "1.5 s", 61 * time.Second: "1 min 1 s",
		90 * time.Minute: "1 h 30 min", 100 * time.Hour: "4 days",
	} {
		require.Equal(t, want, age(d))
	}
	require.Equal(t, "in 1.0 s", ago(-time.Second))
	require.Equal(t, "1.0 s ago", ago(time.Second))
	require.Equal(t, "in 106751 days", ago(math.MinInt64), "or more")
	require.Equal(t, "{\n  \"a\": 1\n}", pretty(json.RawMessage(`{"a":1}`)))
	require.Equal(t, "not json", pretty(json.RawMessage(`not json`)))
	require.Len(t, []rune(short(json.RawMessage(`"`+string(make([]byte, 200))+`"`))), 80)
	require.Equal(t, strings.Repeat("画", 80), short(strings.Repeat("画", 80)))
	require.Equal(t, strings.Repeat("画", 79)+"…", short(strings.Repeat("画", 81)))
}
