package source

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
)

// DialContext makes connections over which a Body whose recording is a file is sent by the system itself (sendfile), without passing
// through the program. net/http hands a request's body to the connection's ReadFrom, but alone would not find the file inside a Body.
func DialContext(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			return &conn{tcp}, nil
		}
		return c, err
	}
}

type conn struct{ *net.TCPConn }

// ReadFrom implements io.ReaderFrom.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if b, ok := limited.R.(*Body); ok {
			if file, ok := b.src.Body.(*os.File); ok {
				n, err := b.send(c.TCPConn, file, limited.N)
				limited.N -= n
				return n, err
			}
		}
	}
	return c.TCPConn.ReadFrom(r)
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
