package jobqueue

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Messages that are sent without waiting for their echoes come back in order, and none early.
func TestRelayDelaysAndKeepsTheOrder(t *testing.T) {
	const messages = 200
	client, in := net.Pipe()
	out, server := net.Pipe()
	go forward(out, in)
	go forward(in, out)
	go func() { _, _ = io.Copy(server, server) }()
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	go func() {
		for i := range messages {
			fmt.Fprintln(client, i)
		}
	}()
	began, lines := time.Now(), bufio.NewScanner(client)
	for i := range messages {
		require.True(t, lines.Scan(), "message %d: %v", i, lines.Err())
		require.Equal(t, fmt.Sprint(i), lines.Text())
		if i == 0 {
			require.GreaterOrEqual(t, time.Since(began), 2*networkDelay)
		}
	}
}
