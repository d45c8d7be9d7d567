package service

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"
)

// sendSmall is like sendLarge for requests in one part over several connections. It waits for all
// of them at once, as other load generators do: reading and writing without goroutines that sleep
// and wake up takes a quarter less processor time.
func sendSmall(
	addr string, conns, want int, from, until time.Time, r *rand.Rand, next request,
) (times []time.Duration, err error) {
	epoll, err := syscall.EpollCreate1(0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(epoll)
	all := make([]*connection, conns)
	for i := range all {
		if all[i], err = dial(addr); err != nil {
			return nil, err
		}
		defer all[i].Close()
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)} // EpollWait returns it
		if err := syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, all[i].fd, &event); err != nil {
			return nil, err
		}
		if err := all[i].send(next(r, 0), time.Now()); err != nil {
			return nil, err
		}
	}
	events := make([]syscall.EpollEvent, conns)
	for open := conns; open > 0; {
		n, err := syscall.EpollWait(epoll, events, -1)
		if err != nil && err != syscall.EINTR {
			return nil, err
		}
		for _, event := range events[:max(n, 0)] {
			c := all[event.Fd]
			if err := receive(c.in, want); err != nil {
				return nil, fmt.Errorf("%s: %w", c.line, err)
			}
			ended := time.Now()
			if ended.After(until) {
				open--
				continue
			}
			if c.begun.After(from) {
				times = append(times, ended.Sub(c.begun))
			}
			if err := c.send(next(r, c.sent), ended); err != nil {
				return nil, err
			}
		}
	}
	return times, nil
}

// connection is a connection whose reads and writes block the thread.
type connection struct {
	fd    int
	in    *bufio.Reader
	line  []byte    // the first of the last request
	begun time.Time // when it was sent
	sent  int       // requests
}

func dial(addr string) (*connection, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &connection{}
	c.in = bufio.NewReaderSize(c, 64<<10)
	var failed error
	if err := raw.Control(func(fd uintptr) { c.fd, failed = syscall.Dup(int(fd)) }); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	return c, syscall.SetNonblock(c.fd, false)
}

func (c *connection) Close() error { return syscall.Close(c.fd) }

func (c *connection) Read(p []byte) (int, error) {
	n, err := syscall.Read(c.fd, p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

func (c *connection) send(message net.Buffers, at time.Time) error {
	c.line, _, _ = bytes.Cut(message[0], []byte("\r\n"))
	c.begun = at
	c.sent++
	if n, err := syscall.Write(c.fd, message[0]); err != nil || n < len(message[0]) {
		return fmt.Errorf("%s: %d of %d bytes sent: %w", c.line, n, len(message[0]), err)
	}
	return nil
}
