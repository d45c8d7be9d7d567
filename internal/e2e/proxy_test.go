//go:build linux

package e2e

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy forwards TCP connections, with faults on demand.
type proxy struct {
	addr string
	dial func() (net.Conn, error)

	mu    sync.Mutex
	links map[*link]bool
	flow  chan struct{} // closed while bytes may pass
}

// link is one connection through the proxy.
type link struct {
	near, far net.Conn
	mu        sync.Mutex
	dead      bool // half-open: nothing is forwarded
}

func newProxy(t *testing.T, dial func() (net.Conn, error)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{addr: l.Addr().String(), dial: dial, links: map[*link]bool{}, flow: make(chan struct{})}
	close(p.flow)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.carry(near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.resume()
		p.cut(false)
		running.Wait()
	})
	return p
}

func (p *proxy) carry(near net.Conn) {
	defer near.Close()
	far, err := p.dial()
	if err != nil {
		return
	}
	defer far.Close()
	k := &link{near: near, far: far}
	p.mu.Lock()
	p.links[k] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, k)
		p.mu.Unlock()
	}()
	var both sync.WaitGroup
	both.Go(func() { p.pass(k, far, near) })
	both.Go(func() { p.pass(k, near, far) })
	both.Wait()
}

// pass copies one direction. Its end closes both.
func (p *proxy) pass(k *link, to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		flow := p.flow
		p.mu.Unlock()
		<-flow
		k.mu.Lock()
		dead := k.dead
		k.mu.Unlock()
		if !dead && n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stall holds back all bytes, also of new connections, until resume.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flow:
		p.flow = make(chan struct{})
	default:
	}
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flow:
	default:
		close(p.flow)
	}
}

// cut closes all connections, or resets them.
func (p *proxy) cut(reset bool) {
	p.each(func(k *link) {
		if tcp, ok := k.near.(*net.TCPConn); ok && reset {
			tcp.SetLinger(0)
		}
		k.near.Close()
		k.far.Close()
	})
}

// deaden makes all present connections half-open: they stay open, and what is sent is lost. New
// ones work.
func (p *proxy) deaden() {
	p.each(func(k *link) {
		k.mu.Lock()
		k.dead = true
		k.mu.Unlock()
	})
}

func (p *proxy) each(do func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		do(k)
	}
}

// to returns a dialer for addr.
func to(addr string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout("tcp", addr, 10*time.Second) }
}

// through returns the address of a database behind a proxy.
func through(t *testing.T, database string, p *proxy) string {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	u.Host = p.addr
	return u.String()
}
