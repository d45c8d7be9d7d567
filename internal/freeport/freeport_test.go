package freeport_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/freeport"
)

func TestAddrIsFreeAndNotEphemeral(t *testing.T) {
	t.Parallel()
	for range 100 {
		addr, err := freeport.Addr()
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(addr)
		require.NoError(t, err)
		number, err := strconv.Atoi(port)
		require.NoError(t, err)
		require.Less(t, number, 32_768, "where Linux begins; others begin at 49152")
		l, err := net.Listen("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}
