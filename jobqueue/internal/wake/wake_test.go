package wake

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
)

// The first signal is sent at once, a burst after it is sent together, and the last one is never
// lost.
func TestCoalescerSendsFirstAndLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var sent [][]driver.Signal
		c := NewCoalescer(func(s []driver.Signal) {
			time.Sleep(5 * time.Millisecond) // a round trip
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, s)
		})
		c.Add(driver.Signal{Queue: "a"})
		time.Sleep(time.Millisecond)
		for range 100 {
			c.Add(driver.Signal{Queue: "b", In: time.Second})
			c.Add(driver.Signal{Queue: "b"})
			c.Add(driver.Signal{Queue: "a"})
			c.Add(driver.Signal{Cancel: 7})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, [][]driver.Signal{
			{{Queue: "a"}},
			{{Queue: "b"}, {Queue: "a"}, {Cancel: 7}},
		}, sent)
		c.Add(driver.Signal{Queue: "a"})
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		require.Len(t, sent, 3, "at once after a pause")
		time.Sleep(time.Second)
	})
}

func TestOfReturnsTheEarliestOfEachQueue(t *testing.T) {
	t.Parallel()
	signals, counts := Of([]driver.Record{
		{Queue: "a", RunAt: time.Now().Add(time.Hour)}, {Queue: "b", RunAt: time.Now().Add(-time.Hour)}, {Queue: "a"},
		{Queue: "b"},
	})
	require.Len(t, signals, 2)
	require.Equal(t, driver.Signal{Queue: "a"}, signals[0])
	require.InDelta(t, -time.Hour, signals[1].In, float64(time.Minute))
	require.Equal(t, map[string]int{"a": 2, "b": 2}, counts)
}

// A caller that sends its own signal does so only after a pause, and what is added meanwhile
// follows.
func TestReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := make(chan []driver.Signal, 10)
		c := NewCoalescer(func(s []driver.Signal) { sent <- s })
		require.True(t, c.Reserve())
		require.False(t, c.Reserve(), "within the gap")
		c.Add(driver.Signal{Queue: "a"})
		synctest.Wait()
		require.Empty(t, sent)
		time.Sleep(gap)
		synctest.Wait()
		require.Len(t, sent, 1)
		require.Equal(t, []driver.Signal{{Queue: "a"}}, <-sent)
		require.False(t, c.Reserve(), "within the gap")
		time.Sleep(gap)
		synctest.Wait()
		require.True(t, c.Reserve())
		time.Sleep(gap)
	})
}
