package service

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httputil"
	"strconv"
	"syscall"
	"time"
)

const (
	connections = 16
	warmUp      = 500 * time.Millisecond
	duration    = 2 * time.Second
)

// request returns the n-th request of a connection. A large one is in parts: most of a recording is
// shared memory.
type request func(r *rand.Rand, n int) net.Buffers

// load returns the rate of small requests over several connections, each after the answer to the
// one before, which must have the status want. The client does as little as possible, since it
// shares the processors with the server.
//
// One thread waits for all connections at once, as other load generators do: reading and writing
// without goroutines that sleep and wake up takes a quarter less processor time.
func load(addr string, conns, want int, next request) (rate float64, err error) {
	syscall.Sync() // writes of the previous run are not part of this one
	started := time.Now()
	r := rand.New(rand.NewPCG(0, uint64(started.UnixNano())))
	from := started.Add(warmUp)
	until := from.Add(duration)
	epoll, err := syscall.EpollCreate1(0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(epoll)
	all := make([]*connection, conns)
	for i := range all {
		if all[i], err = dial(addr); err != nil {
			return 0, err
		}
		defer all[i].Close()
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)} // EpollWait returns it
		if err := syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, all[i].fd, &event); err != nil {
			return 0, err
		}
		if err := all[i].send(next(r, 0)); err != nil {
			return 0, err
		}
	}
	events, answers := make([]syscall.EpollEvent, conns), 0
	for open := conns; open > 0; {
		n, err := syscall.EpollWait(epoll, events, -1)
		if err != nil && err != syscall.EINTR {
			return 0, err
		}
		for _, event := range events[:max(n, 0)] {
			c := all[event.Fd]
			if err := receive(c.in, want); err != nil {
				return 0, fmt.Errorf("%s: %w", c.line, err)
			}
			ended := time.Now()
			if ended.After(until) {
				open--
				continue
			}
			if ended.After(from) {
				answers++
			}
			if err := c.send(next(r, c.sent)); err != nil {
				return 0, err
			}
		}
	}
	return float64(answers) / duration.Seconds(), nil
}

// connection is a connection whose reads and writes block the thread.
type connection struct {
	fd   int
	in   *bufio.Reader
	line []byte // the first of the last request
	sent int    // requests
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

func (c *connection) send(message net.Buffers) error {
	c.line, _, _ = bytes.Cut(message[0], []byte("\r\n"))
	c.sent++
	if n, err := syscall.Write(c.fd, message[0]); err != nil || n < len(message[0]) {
		return fmt.Errorf("%s: %d of %d bytes sent: %w", c.line, n, len(message[0]), err)
	}
	return nil
}

func exchange(conn net.Conn, in *bufio.Reader, message net.Buffers, want int) error {
	line, _, _ := bytes.Cut(message[0], []byte("\r\n"))
	_, err := message.WriteTo(conn)
	if err == nil {
		err = receive(in, want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// receive reads a response and checks its status.
func receive(in *bufio.Reader, want int) error {
	status, length, err := readHead(in)
	if err != nil {
		return err
	}
	body := io.LimitReader(in, length)
	if length < 0 {
		body = httputil.NewChunkedReader(in)
	}
	if status != want {
		b, _ := io.ReadAll(io.LimitReader(body, 500))
		return fmt.Errorf("status %d instead of %d: %s", status, want, b)
	}
	if _, err = io.Copy(io.Discard, body); err == nil && length < 0 {
		_, err = in.ReadSlice('\n') // the empty line after the last chunk
	}
	return err
}

// readHead reads the head of a response: its status and the length of its body, -1 if that is in
// chunks. http.ReadResponse would take several times as long, because it keeps every header.
func readHead(in *bufio.Reader) (status int, length int64, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	_, code, _ := bytes.Cut(line, []byte(" "))
	if status, err = strconv.Atoi(string(code[:min(3, len(code))])); err != nil {
		return 0, 0, fmt.Errorf("not a response: %q", line)
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		name, value, isHeader := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		switch {
		case !isHeader:
			return status, length, nil
		case string(name) == "Transfer-Encoding":
			length = -1
		case string(name) == "Content-Length":
			if length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return 0, 0, err
			}
		}
	}
}
