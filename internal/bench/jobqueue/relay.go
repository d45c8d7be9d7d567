package jobqueue

import (
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"lessonkit.example/internal/bench/harness"
)

// relaySpec is the spec of a process that delays connections.
type relaySpec struct {
	Network, Address string // of the server
	Delay            time.Duration
}

// startRelay starts a relay to the server of the database and returns the URL of the database
// through it. The relay is a process of its own, so that its processor time is known and nothing
// that this process does makes it late.
func (b *bench) startRelay(database string, delay time.Duration) (*harness.Child, string, error) {
	config, err := pgconn.ParseConfig(database)
	if err != nil {
		return nil, "", err
	}
	u, err := url.Parse(database)
	if err != nil {
		return nil, "", err
	}
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	c, err := b.StartChild(childSpec{Relay: &relaySpec{network, address, delay}})
	if err != nil {
		return nil, "", err
	}
	if err := c.Next(&u.Host); err != nil {
		return nil, "", err
	}
	q := u.Query()
	q.Del("host") // the directory of the socket
	u.RawQuery = q.Encode()
	return c, u.String(), nil
}

// runRelay reports its address and forwards connections until the standard input ends.
func runRelay(spec relaySpec) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	listener, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := harness.Report(l.Addr().String()); err != nil {
		return err
	}
	return relay(spec, listener, os.Stdin)
}

// relay forwards the connections of listener to the server until stop is readable or closed. Each
// byte leaves spec.Delay after it came, in both directions, and pipelined messages wait once.
//
// One thread waits for data and for time with one system call: timers of the runtime are late by up
// to a millisecond, and passing data between goroutines would cost processor time.
func relay(spec relaySpec, listener, stop *os.File) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Otherwise the kernel may be late by 50 µs.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return err
	}
	var directions []*direction
	defer func() {
		for _, d := range directions {
			_ = unix.Close(d.from)
		}
	}()
	var polls []unix.PollFd
	for {
		polls = append(polls[:0], unix.PollFd{Fd: int32(stop.Fd()), Events: unix.POLLIN},
			unix.PollFd{Fd: int32(listener.Fd()), Events: unix.POLLIN})
		var next time.Time
		for _, d := range directions {
			polls = append(polls, d.polls()...)
			if due := d.due(); !due.IsZero() && (next.IsZero() || due.Before(next)) {
				next = due
			}
		}
		var timeout *unix.Timespec // none
		if !next.IsZero() {
			left := unix.NsecToTimespec(int64(max(0, time.Until(next))))
			timeout = &left
		}
		if _, err := unix.Ppoll(polls, timeout, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return err
		}
		if polls[0].Revents != 0 {
			return nil
		}
		now := time.Now()
		for i, d := range directions {
			d.forward(polls[2+2*i].Revents != 0, now, spec.Delay)
		}
		directions = slices.DeleteFunc(directions, (*direction).closed)
		if polls[1].Revents != 0 {
			there, back, err := accept(int(listener.Fd()), spec)
			if err != nil {
				return err
			}
			directions = append(directions, there, back)
		}
	}
}

// accept accepts a connection and connects to the server.
func accept(listener int, spec relaySpec) (there, back *direction, err error) {
	client, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetsockoptInt(client, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return nil, nil, err
	}
	conn, err := net.Dial(spec.Network, spec.Address)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	file, err := conn.(interface{ File() (*os.File, error) }).File() // a duplicate
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	server, err := unix.Dup(int(file.Fd()))
	if err != nil {
		return nil, nil, err
	}
	there, back = &direction{from: client, to: server}, &direction{from: server, to: client}
	there.opposite, back.opposite = back, there
	return there, back, unix.SetNonblock(server, true)
}

// direction carries the bytes that one side of a connection sends.
type direction struct {
	from, to int // file descriptors; from is -1 when closed
	opposite *direction
	chunks   []chunk // under way
	unused   [][]byte
	blocked  bool // the receiver does not read
	ended    bool // the sender has closed the connection
}

type chunk struct {
	data   []byte // not yet written
	buffer []byte
	due    time.Time
}

const (
	chunkSize = 64 << 10
	maxChunks = 1024 // 64 MiB under way, more than a loopback connection carries in 1 ms
)

// polls returns what to wait for, always two elements.
func (d *direction) polls() []unix.PollFd {
	in, out := unix.PollFd{Fd: -1}, unix.PollFd{Fd: -1} // ignored
	if !d.ended && len(d.chunks) < maxChunks {
		in = unix.PollFd{Fd: int32(d.from), Events: unix.POLLIN}
	}
	if d.blocked {
		out = unix.PollFd{Fd: int32(d.to), Events: unix.POLLOUT}
	}
	return []unix.PollFd{in, out}
}

// due returns when the next bytes leave, or zero if they do not wait for that.
func (d *direction) due() time.Time {
	if d.blocked || len(d.chunks) == 0 {
		return time.Time{}
	}
	return d.chunks[0].due
}

// forward reads what came, if readable, and writes what is due.
func (d *direction) forward(readable bool, now time.Time, delay time.Duration) {
	if readable && !d.closed() {
		d.read(now.Add(delay))
	}
	for len(d.chunks) > 0 && !d.closed() && !d.chunks[0].due.After(now) {
		if !d.write() {
			break
		}
	}
	if d.ended && len(d.chunks) == 0 && !d.closed() {
		d.close()
	}
}

func (d *direction) read(due time.Time) {
	var buffer []byte
	if n := len(d.unused); n > 0 {
		buffer, d.unused = d.unused[n-1], d.unused[:n-1]
	} else {
		buffer = make([]byte, chunkSize)
	}
	n, err := unix.Read(d.from, buffer)
	if n > 0 {
		d.chunks = append(d.chunks, chunk{buffer[:n], buffer, due})
		return
	}
	d.unused = append(d.unused, buffer)
	d.ended = err != unix.EAGAIN && err != unix.EINTR
}

// write writes the first chunk and returns whether the next one may follow.
func (d *direction) write() bool {
	c := &d.chunks[0]
	n, err := unix.Write(d.to, c.data)
	d.blocked = err == unix.EAGAIN
	switch {
	case d.blocked || err == unix.EINTR:
		return false
	case err != nil:
		d.close()
		return false
	}
	if c.data = c.data[n:]; len(c.data) == 0 {
		d.unused = append(d.unused, c.buffer)
		d.chunks = slices.Delete(d.chunks, 0, 1)
	}
	return true
}

// close closes the connection in both directions: PostgreSQL and its clients never close only one.
func (d *direction) close() {
	_, _ = unix.Close(d.from), unix.Close(d.to)
	d.from, d.to, d.opposite.from, d.opposite.to = -1, -1, -1, -1
}

func (d *direction) closed() bool { return d.from < 0 }
