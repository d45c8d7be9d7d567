package jobqueue

import (
	"bytes"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"lessonkit.example/internal/bench/harness"
)

// delayed returns the URL of the same database through a relay.
func (b *bench) delayed(database string, delay time.Duration) (string, error) {
	config, err := pgconn.ParseConfig(database)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(database)
	if err != nil {
		return "", err
	}
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	if u.Host, err = relay(&b.TB, network, address, delay); err != nil {
		return "", err
	}
	q := u.Query()
	q.Del("host") // the directory of the socket
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// relay forwards connections to address until the end of the part, and returns its own address.
// Each byte leaves delay after it came, in both directions; there is no limit to the bytes under
// way, so that pipelined messages wait once.
func relay(t *harness.TB, network, address string, delay time.Duration) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { _ = l.Close() })
	go accept(l, network, address, delay)
	return l.Addr().String(), nil
}

func accept(l net.Listener, network, address string, delay time.Duration) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(network, address)
		if err != nil {
			client.Close() // the worker reports it
			continue
		}
		go forward(server, client, delay)
		go forward(client, server, delay)
	}
}

// forward copies from one connection to the other, and closes both when one of them ends.
func forward(to, from net.Conn, delay time.Duration) {
	type chunk struct {
		data []byte
		due  time.Time
	}
	chunks := make(chan chunk, 1024) // of at most 64 KiB: more than a loopback connection carries in 1 ms
	go func() {
		defer close(chunks)
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				chunks <- chunk{bytes.Clone(buf[:n]), time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		sleepUntil(c.due)
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	for range chunks { // until the reader has ended
	}
}

// sleepUntil is exact to some microseconds, where the timers of the runtime are late by up to a
// millisecond when nothing else runs.
func sleepUntil(due time.Time) {
	for {
		left := time.Until(due)
		if left <= 0 {
			return
		}
		t := syscall.NsecToTimespec(int64(left))
		_ = syscall.Nanosleep(&t, nil) // interrupted by a signal, it returns early
	}
}
