package jobqueue

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/bench/harness"
)

// TestRelayDelaysEachByteOnce sends messages without waiting for their echoes: together they take
// one round trip, not one each.
func TestRelayDelaysEachByteOnce(t *testing.T) {
	const delay, messages = 50 * time.Millisecond, 200
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	var tb harness.TB
	defer tb.Release()
	address, err := relay(&tb, "tcp", echo.Addr().String(), delay)
	require.NoError(t, err)

	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	began := time.Now()
	for i := range messages {
		_, err := fmt.Fprintln(c, i)
		require.NoError(t, err)
		time.Sleep(time.Millisecond) // in a chunk of its own
	}
	in := bufio.NewScanner(c)
	for i := range messages {
		require.True(t, in.Scan(), "message %d: %v", i, in.Err())
		require.Equal(t, fmt.Sprint(i), in.Text())
		if i == 0 {
			require.GreaterOrEqual(t, time.Since(began), 2*delay)
		}
	}
	require.Less(t, time.Since(began), messages*delay/2)
}
