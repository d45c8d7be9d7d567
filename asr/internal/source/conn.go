package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// DialContext makes connections for sending recordings.
//
// A Body whose recording is a file is sent by the system itself (sendfile), without passing through the program: net/http hands a
// request's body to the connection's ReadFrom, but alone would not find the file inside a Body.
//
// A server that refuses a recording early, say because it is too large or the key is wrong, answers and closes the connection while the
// recording is still being sent. net/http then often reports the broken write instead of the answer. These connections report a
// broken write only after what the server said has been read.
func DialContext(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			return &conn{TCPConn: tcp, heard: make(chan struct{})}, nil
		}
		return c, err
	}
}

type conn struct {
	*net.TCPConn
	heard chan struct{} // closed when anything, or the end, has been read
	once  sync.Once
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.once.Do(func() { close(c.heard) })
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.linger(err)
	return n, err
}

// ReadFrom implements io.ReaderFrom.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if b, ok := limited.R.(*Body); ok {
			if file, ok := b.src.Body.(*os.File); ok {
				n, err := b.send(c.TCPConn, file, limited.N)
				limited.N -= n
				c.linger(err)
				return n, err
			}
		}
	}
	n, err := c.TCPConn.ReadFrom(r)
	c.linger(err)
	return n, err
}

// linger gives the goroutine that reads the time to find the answer, when the other side has closed the connection.
func (c *conn) linger(err error) {
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return
	}
	select {
	case <-c.heard:
	case <-time.After(time.Second):
	}
	time.Sleep(50 * time.Millisecond) // to parse what it has read
}

// send writes what is left of the body, at most limit bytes.
func (b *Body) send(w *net.TCPConn, file *os.File, limit int64) (int64, error) {
	sent, err := io.CopyN(w, b.head, min(int64(b.head.Len()), limit))
	if err != nil {
		return sent, err
	}
	if want := min(b.left, limit-sent); want > 0 {
		n, err := io.Copy(w, io.LimitReader(file, want))
		sent += n
		b.left -= n
		if err != nil {
			return sent, err
		}
		if n < want {
			err := fmt.Errorf("it ends %d bytes before its announced size", want-n)
			b.failure.set(err)
			return sent, err
		}
	}
	n, err := io.CopyN(w, b.tail, min(int64(b.tail.Len()), limit-sent))
	return sent + n, err
}
