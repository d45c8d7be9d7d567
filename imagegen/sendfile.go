package imagegen

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
)

// sendConn lets the kernel send the files of an upload, where the connection is plain TCP: net/http hands a whole body to a
// connection that can read from it, and net.TCPConn does so by sendfile if it is a file. It saves a copy of every byte through this
// process. Over TLS it does nothing.
type sendConn struct{ *net.TCPConn }

// dialSending dials with d.
func dialSending(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			return sendConn{tcp}, err
		}
		return c, err
	}
}

// ReadFrom implements io.ReaderFrom.
func (c sendConn) ReadFrom(r io.Reader) (int64, error) {
	limited, ok := r.(*io.LimitedReader) // of the length of the request, which is that of the body
	if !ok {
		return c.TCPConn.ReadFrom(r)
	}
	body, ok := limited.R.(*uploadBody)
	if !ok {
		return c.TCPConn.ReadFrom(r)
	}
	n, err := body.copyTo(c.TCPConn)
	limited.N -= n
	return n, err
}

// copyTo writes what is left of the body. The lock is not held while the connection is written to, so Close never waits for a peer.
func (b *uploadBody) copyTo(c *net.TCPConn) (n int64, err error) {
	var buf []byte
	b.mu.Lock()
	b.direct = true
	b.mu.Unlock()
	for {
		b.mu.Lock()
		f, isFile := b.file.(*os.File)
		left := b.left
		b.mu.Unlock()
		if isFile && left > 0 {
			k, err := c.ReadFrom(&io.LimitedReader{R: f, N: left})
			n += k
			b.mu.Lock()
			b.left -= k
			b.mu.Unlock()
			if err != nil {
				return n, err
			}
			if k > 0 {
				continue
			}
		}
		// headers, files of other kinds, and the discovery that a file has become shorter
		if buf == nil {
			buf = make([]byte, 32<<10)
		}
		k, err := b.Read(buf)
		if k > 0 {
			m, writeErr := c.Write(buf[:k])
			n += int64(m)
			if writeErr != nil {
				return n, writeErr
			}
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
