package jobqueue

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
)

func TestParamsAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p    Params
		want string
	}{
		"no kind":           {Params{}, "kind is empty"},
		"kind too long":     {Params{Kind: strings.Repeat("k", 201)}, "kind has 201 bytes, more than 200"},
		"queue not text":    {Params{Kind: "k", Queue: "a\x00b"}, `queue "a\x00b" is not UTF-8 without NUL`},
		"key not text":      {Params{Kind: "k", UniqueKey: "\xff"}, "unique key"},
		"priority too low":  {Params{Kind: "k", Priority: 5}, "priority 5 of kind \"k\" is not 1 to 4"},
		"priority negative": {Params{Kind: "k", Priority: -1}, "priority -1"},
		"long ago": {Params{Kind: "k", RunAt: time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC)},
			"in the year 0, not 1 to 9999"},
		"far future": {Params{Kind: "k", RunAt: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -3600))},
			"in the year 10000"},
		"end of time": {Params{Kind: "k", RunAt: time.Unix(1<<62, 0)}, "not 1 to 9999"},
		"not JSON":    {Params{Kind: "k", Args: math.Inf(1)}, `encode arguments of kind "k"`},
		"args not text": {Params{Kind: "k", Args: json.RawMessage("\"\xff\"")},
			`encode arguments of kind "k": they are not UTF-8`},
		"group too long": {Params{Kind: "k", Group: strings.Repeat("g", 201)}, "group has 201 bytes"},
		"after not text": {Params{Kind: "k", AfterGroup: "\x00"}, "AfterGroup \"\\x00\" is not UTF-8"},
		"after itself": {Params{Kind: "k", Group: "g", AfterGroup: "g"},
			`wait for itself: it is in the group "g"`},
		"too many attempts": {Params{Kind: "k", MaxAttempts: math.MaxInt}, "is more than 2147483647"},
		"limit of no key":   {Params{Kind: "k", KeyLimit: 2}, "KeyLimit but no LimitKey"},
		"negative limit":    {Params{Kind: "k", LimitKey: "s", KeyLimit: -1}, "KeyLimit -1 of kind"},
		"large limit":       {Params{Kind: "k", LimitKey: "s", KeyLimit: 1001}, "is not 0 to 1000"},
		"two turns":         {Params{Kind: "k", LimitKey: "s", AfterGroup: "g"}, "both AfterGroup and LimitKey"},
	} {
		_, err := c.p.record()
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestParamsDefaults(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("", 3600))
	r, err := Params{Kind: "k", RunAt: at}.record()
	require.NoError(t, err)
	require.Equal(t, driver.Record{
		Queue: "default", Kind: "k", Priority: 2, MaxAttempts: 10, Args: []byte("null"),
		RunAt: time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC),
	}, r)
	r, err = Params{Kind: "k", MaxAttempts: math.MinInt}.record()
	require.NoError(t, err)
	require.Equal(t, Unlimited, r.MaxAttempts)
}

func TestRateIsNotExceeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate Rate
		want time.Duration
	}{
		{Rate{N: 200, Per: time.Second}, 5 * time.Millisecond},
		{Rate{N: 60, Per: time.Second}, 16_667 * time.Microsecond},
		{Rate{N: 600_000, Per: time.Second}, 2 * time.Microsecond},
		{Rate{N: 2, Per: 2001 * time.Nanosecond}, 2 * time.Microsecond},
		{Rate{N: 1, Per: time.Microsecond}, time.Microsecond},
	} {
		require.True(t, c.rate.valid(), c.rate)
		require.Equal(t, c.want, c.rate.every(), c.rate)
	}
	require.False(t, Rate{N: 2, Per: 1999 * time.Nanosecond}.valid())
	require.False(t, Rate{N: math.MaxInt, Per: time.Hour}.valid())
}

func TestErrorsFitEveryEngine(t *testing.T) {
	t.Parallel()
	require.NoError(t, Permanent(nil))
	require.Positive(t, retryAfter(Snooze(-time.Second)), "at least a moment")
	require.Equal(t, "a\uFFFDb\uFFFD", cleanText("a\x00b\xff"))
	require.LessOrEqual(t, len(cleanText(strings.Repeat("é", maxErrorText))), maxErrorText+6)
	require.Equal(t, "*errors.errorString", attemptError(&Job{}, errors.New("")).Error)
}

func TestDefaultBackoffGrowsToAnHour(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second,
		8: 128 * time.Second, 12: 2048 * time.Second, 13: time.Hour, 1000: time.Hour} {
		d := defaultBackoff(attempt)
		require.InDelta(t, want, d, float64(want)/5+1, "attempt %d", attempt)
	}
}
