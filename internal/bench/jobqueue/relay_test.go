package jobqueue

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startEcho starts a server that returns what it receives, and returns its address.
func startEcho(t *testing.T) string {
	t.Helper()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = echo.Close() })
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
	return echo.Addr().String()
}

// dialRelayed connects to the server at address through a relay.
func dialRelayed(t *testing.T, address string, delay time.Duration) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	listener, err := l.(*net.TCPListener).File()
	require.NoError(t, err)
	stop, stopped, err := os.Pipe()
	require.NoError(t, err)
	ended := make(chan error)
	go func() { ended <- relay(relaySpec{"tcp", address, delay}, listener, stop) }()
	t.Cleanup(func() {
		require.NoError(t, stopped.Close())
		require.NoError(t, <-ended)
		require.NoError(t, stop.Close())
		require.NoError(t, listener.Close())
	})
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestRelayDelaysEachByteOnce sends messages without waiting for their echoes: together they take
// one round trip, not one each.
func TestRelayDelaysEachByteOnce(t *testing.T) {
	const delay, messages = 50 * time.Millisecond, 200
	c := dialRelayed(t, startEcho(t), delay)
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

// TestRelayIsExact: no round trip is shorter than twice the delay, and the shortest is hardly
// longer. On a busy machine most of them have to wait for a processor too.
func TestRelayIsExact(t *testing.T) {
	const delay, pings = time.Millisecond, 500
	c := dialRelayed(t, startEcho(t), delay)
	var trips []time.Duration
	message := []byte("ping")
	for range pings {
		began := time.Now()
		_, err := c.Write(message)
		require.NoError(t, err)
		_, err = io.ReadFull(c, message)
		require.NoError(t, err)
		trips = append(trips, time.Since(began))
	}
	slices.Sort(trips)
	t.Logf("round trip: least %v, median %v, 99th percentile %v", trips[0], trips[pings/2], trips[pings*99/100])
	require.GreaterOrEqual(t, trips[0], 2*delay)
	require.Less(t, trips[0], 2*delay+200*time.Microsecond)
}

// TestRelayHasNoLimitOfBandwidth sends 256 MiB and receives them again; with 64 KiB for each
// round trip that would take 8 s.
func TestRelayHasNoLimitOfBandwidth(t *testing.T) {
	const size = 256 << 20
	address := startEcho(t)
	rate := func(c net.Conn) float64 {
		began := time.Now()
		go func() {
			buf := make([]byte, 1<<20)
			for range size / len(buf) {
				if _, err := c.Write(buf); err != nil {
					return
				}
			}
		}()
		_, err := io.CopyN(io.Discard, c, size)
		require.NoError(t, err)
		return size / time.Since(began).Seconds()
	}
	bare, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer bare.Close()
	direct, relayed := rate(bare), rate(dialRelayed(t, address, time.Millisecond))
	t.Logf("%.0f MB/s, through the relay %.0f MB/s", direct/1e6, relayed/1e6)
	require.Greater(t, relayed, direct/4)
}
