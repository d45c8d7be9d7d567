package jobqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lessonkit.example/jobqueue/driver"
)

func TestPercentilesAreRightWithinAFifth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(7*24*time.Hour)).Draw(t, "wait"))
		var waits [driver.WaitBuckets]int
		waits[0], waits[waitBucket(wait)] = 9, waits[waitBucket(wait)]+11
		got := percentile(waits, 20, 0.5)
		if waitBucket(wait) > 0 {
			require.Less(t, math.Abs(math.Log(float64(got)/float64(wait))), math.Log(1.2))
		}
	})
	require.Zero(t, percentile([driver.WaitBuckets]int{}, 0, 0.95))
	require.Zero(t, waitBucket(-time.Hour), "the clock was set back")
	require.Equal(t, driver.WaitBuckets-1, waitBucket(math.MaxInt64))
}

func TestCountersAreTakenOnce(t *testing.T) {
	var c counters
	c.count(Event{Type: EventClaimed, Wait: time.Second})
	c.count(Event{Type: EventFailed})
	c.count(Event{Type: EventSnoozed})
	c.count(Event{Type: EventSucceeded})
	m, ok := c.take()
	require.True(t, ok)
	want := driver.Minute{Finished: 2, Failed: 1}
	want.Waits[waitBucket(time.Second)] = 1
	require.Equal(t, want, m)
	_, ok = c.take()
	require.False(t, ok)
}
