package imagegentest

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// connect returns the two ends of a connection in memory. Unlike those of net.Pipe they buffer, as
// sockets do: a TLS connection sends an alert when it is closed, and two ends that are closed at
// once do not read each other's.
func connect() (client, server net.Conn) {
	a, b := newHalf(), newHalf()
	return &conn{in: a, out: b}, &conn{in: b, out: a}
}

const halfSize = 64 << 10

// half is one direction of a connection.
type half struct {
	mu       sync.Mutex
	changed  *sync.Cond
	data     []byte
	done     bool // the writer has closed
	gone     bool // the reader has closed
	readEnd  deadline
	writeEnd deadline
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (h *half) set(d *deadline, at time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.at = at
	if wait := time.Until(at); !at.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, h.changed.Broadcast)
	}
	h.changed.Broadcast()
	return nil
}

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.gone:
			return 0, net.ErrClosed
		case h.readEnd.passed():
			return 0, os.ErrDeadlineExceeded
		case len(h.data) > 0:
			n := copy(p, h.data)
			h.data = h.data[n:]
			h.changed.Broadcast()
			return n, nil
		case h.done:
			return 0, io.EOF
		}
		h.changed.Wait()
	}
}

func (h *half) write(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(p) > 0 {
		switch {
		case h.done, h.gone:
			return n, io.ErrClosedPipe
		case h.writeEnd.passed():
			return n, os.ErrDeadlineExceeded
		case len(h.data) < halfSize:
			k := min(len(p), halfSize-len(h.data))
			h.data = append(h.data, p[:k]...)
			n, p = n+k, p[k:]
			h.changed.Broadcast()
			continue
		}
		h.changed.Wait()
	}
	return n, nil
}

func (h *half) close(end *bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*end = true
	h.changed.Broadcast()
}

// conn is one end of a connection.
type conn struct{ in, out *half }

func (c *conn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }

func (c *conn) Close() error {
	c.in.close(&c.in.gone)
	c.out.close(&c.out.done)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error  { return c.in.set(&c.in.readEnd, t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.set(&c.out.writeEnd, t) }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) LocalAddr() net.Addr  { return pipeAddr{} }
func (c *conn) RemoteAddr() net.Addr { return pipeAddr{} }
