package audios3

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

// newTransport returns a transport whose connections fail if they transfer nothing for a time.
// Recordings of any size may take as long as they need.
func newTransport(secure bool, idle time.Duration) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: min(idle, 10*time.Second)}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return idleConn{c, idle}, nil
	}
	t.ResponseHeaderTimeout = idle
	t.IdleConnTimeout = idle
	t.MaxIdleConnsPerHost = 64 // as many requests as a server makes at once find a connection
	return t, nil
}

// idleConn is a connection with a time limit for every read and write.
type idleConn struct {
	net.Conn
	idle time.Duration
}

func (c idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c idleConn) Write(p []byte) (int, error) {
	// While a request is sent, the transport already waits to read the answer.
	if err := c.SetDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
