package jobqueue

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func mustCron(t *testing.T, expression, zone string) When {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Skip("no time zones: ", err)
	}
	w, err := Cron(expression, loc)
	require.NoError(t, err)
	return w
}

func TestCronTimes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ expression, zone, after, want string }{
		{"*/15 * * * *", "UTC", "2026-01-01T00:00:00Z", "00:15 00:30 00:45 01:00"},
		{"30 2 * * *", "UTC", "2026-01-01T02:30:00Z", "02:30"},
		{"5-59/20 8-10/2 * * *", "UTC", "2026-01-01T00:00:00Z", "08:05 08:25 08:45 10:05"},
		{"0 0 13 * fri", "UTC", "2026-03-12T00:00:00Z", "2026-03-13T00:00:00Z 2026-03-20T00:00:00Z"},
		{"0 0 */2 * MON", "UTC", "2026-03-12T00:00:00Z", "2026-03-23T00:00:00Z"}, // both: the 23rd is odd
		{"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		// 29 February on a Sunday: every 28 years, but 2100 is not a leap year.
		{"0 0 29 2 */7", "UTC", "2026-01-01T00:00:00Z",
			"2032-02-29T00:00:00Z 2060-02-29T00:00:00Z 2088-02-29T00:00:00Z 2128-02-29T00:00:00Z"},
		{"*/30 23 29 2 */7", "Europe/Berlin", "2060-02-29T22:00:00Z",
			"2060-02-29T22:30:00Z 2088-02-29T22:00:00Z 2088-02-29T22:30:00Z 2128-02-29T22:00:00Z"},
		{"0 0 * * 7", "UTC", "2026-03-12T00:00:00Z", "2026-03-15T00:00:00Z"},
		{"@yearly", "Asia/Shanghai", "2026-03-12T00:00:00Z", "2026-12-31T16:00:00Z"},
		// Clocks in Berlin: 02:00 becomes 03:00 on 29 March, 03:00 becomes 02:00 on 25 October.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z 2026-03-30T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z 2026-10-26T01:30:00Z"},
		{"0,30 2,3 29 3 *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z 2026-03-29T01:30:00Z"},
		{"*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T00:00:00Z 2026-10-25T00:30:00Z 2026-10-25T01:00:00Z 2026-10-25T01:30:00Z"},
		{"*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z"},
		// Midnight was skipped in São Paulo, and 30 December 2011 in Apia.
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z 2018-11-05T02:00:00Z"},
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z"},
		// ZoneBounds ends the year 2040 a day too early.
		{"0 12 * * *", "Europe/Berlin", "2040-12-30T12:00:00Z", "2040-12-31T11:00:00Z 2041-01-01T11:00:00Z"},
		{"0 12 31 * *", "Pacific/Chatham", "2040-12-02T00:00:00Z", "2040-12-30T22:15:00Z 2041-01-30T22:15:00Z"},
		{"*/30 3 1 * *", "America/New_York", "2040-12-02T00:00:00Z", "2041-01-01T08:00:00Z 2041-01-01T08:30:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, test.after)
		require.NoError(t, err)
		w := mustCron(t, test.expression, test.zone)
		for _, want := range strings.Fields(test.want) {
			at = w.Next(at)
			got := at.Format(time.RFC3339)
			if len(want) == 5 {
				got = at.Format("15:04")
			}
			require.Equal(t, want, got, "%s in %s", test.expression, test.zone)
		}
	}
}

func TestCronErrors(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"":                      "has 0 fields, not 5",
		"* * * *":               "has 4 fields",
		"60 * * * *":            `minute "60" is not a number from 0 to 59`,
		"* * 0 * *":             `day of the month "0"`,
		"* * * foo *":           `month "foo"`,
		"5-1 * * * *":           "ends before it begins",
		"*/0 * * * *":           "the step",
		"5/15 * * * *":          "a step needs a range, such as 5-59/15",
		"1,,2 * * * *":          `minute ""`,
		"+1 * * * *":            `minute "+1"`,
		"0 0 30 2 *":            "matches no date",
		"* * 31 2,4,6,9,11 */2": "matches no date",
		"@never":                "has 1 fields",
		"* * * * L":             `day of the week "L"`,
	} {
		_, err := Cron(expression, nil)
		require.ErrorContains(t, err, want, expression)
	}
	w, err := Cron(" @daily ", nil)
	require.NoError(t, err)
	require.Equal(t, "@daily UTC", w.String())
}

// The oracle visits every minute. For an expression that does not follow the clock, it remembers
// the latest time that the clock has shown: what lies between that and the time it shows now comes
// now.
func TestCronAgreesWithAnOracleOfEveryMinute(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	days := map[string]string{ // of a change of the clock, and some at random
		"UTC": "2026-01-01", "Europe/Berlin": "2026-03-28", "America/New_York": "2026-10-31",
		"Australia/Lord_Howe": "2026-04-04", "Africa/Cairo": "2026-04-23", "Asia/Beirut": "2026-10-24",
		"Pacific/Apia": "2011-12-29", "Antarctica/Troll": "2026-03-28", "America/Sao_Paulo": "2018-11-03",
		"Asia/Kathmandu": "2026-05-05", "Asia/Tehran": "2022-03-21", "Pacific/Chatham": "2026-09-26",
		"Europe/London": "2026-10-24", "America/Havana": "2026-03-07", "Asia/Shanghai": "2026-06-01",
		"America/St_Johns": "2006-10-28",
	}
	ticks := 0
	for zone, date := range days {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Skip("no time zones: ", err)
		}
		from, err := time.Parse(time.DateOnly, date)
		require.NoError(t, err)
		for range 40 {
			expression := randomCron(r)
			c, err := Cron(expression, loc)
			require.NoError(t, err, expression)
			got := c.Next(from)
			var shown time.Time // the latest time so far
			for at := from.Add(-24 * time.Hour); at.Before(from.Add(4 * 24 * time.Hour)); at = at.Add(time.Minute) {
				_, offset := at.In(loc).Zone()
				now := at.Add(time.Duration(offset) * time.Second)
				due := false
				if c.(*cron).follows {
					due = matches(c.(*cron), now)
				} else if shown.IsZero() {
					shown = now
				}
				for ; !c.(*cron).follows && shown.Before(now); shown = shown.Add(time.Minute) {
					due = due || matches(c.(*cron), shown.Add(time.Minute))
				}
				if !due || !at.After(from) {
					continue
				}
				ticks++
				require.Equal(t, at, got, "%s in %s", expression, zone)
				got = c.Next(got)
			}
		}
	}
	require.Greater(t, ticks, 10_000)
}

func matches(c *cron, w time.Time) bool {
	in := func(field, value int) bool { return c.sets[field]&(1<<value) != 0 }
	dayOK := in(day, w.Day()) && in(weekday, int(w.Weekday()))
	if c.eitherDay {
		dayOK = in(day, w.Day()) || in(weekday, int(w.Weekday()))
	}
	return in(minute, w.Minute()) && in(hour, w.Hour()) && in(month, int(w.Month())) && dayOK
}

// randomCron returns an expression that matches several times a week.
func randomCron(r *rand.Rand) string {
	field := func(low, high, star int) string {
		switch a, b := low+r.IntN(high-low+1), low+r.IntN(high-low+1); {
		case r.IntN(10) < star:
			return "*"
		case r.IntN(4) == 0:
			return fmt.Sprint("*/", 1+r.IntN(high/2))
		case r.IntN(2) == 0:
			return fmt.Sprintf("%d,%d", a, b)
		default:
			return fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), 1+r.IntN(3))
		}
	}
	return strings.Join([]string{
		field(0, 59, 2), field(0, 4, 2), field(1, 31, 9), field(1, 12, 10), field(0, 7, 8)}, " ")
}

func TestEveryCountsFrom1970(t *testing.T) {
	t.Parallel()
	w := Every(7 * time.Second)
	require.Equal(t, time.Unix(7, 0).UTC(), w.Next(time.Unix(0, 0)))
	require.Equal(t, time.Unix(0, 0).UTC(), w.Next(time.Unix(-1, 0)))
	require.Equal(t, time.Unix(-7, 0).UTC(), w.Next(time.Unix(-14, 0)))
	require.Equal(t, "every 7s", w.String())
	require.Equal(t, "every 1h", Every(time.Hour).String())
	require.Equal(t, "every 10m", Every(10*time.Minute).String())
	require.Panics(t, func() { Every(time.Millisecond) })
}
