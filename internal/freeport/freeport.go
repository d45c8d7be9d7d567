// Package freeport finds ports for programs that cannot listen on a port of their own choice and
// tell it.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Addr returns an address of the loopback interface, host:port, that nobody listens on. The port is
// below those that systems give to connections and to listeners on port 0, so that it stays free
// until the program listens, and while it is restarted. Two calls may return the same address.
func Addr() (string, error) {
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", errors.New("freeport: found no free port")
}
