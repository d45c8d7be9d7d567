package jobqueue

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/bench/harness"
)

// networkDelay is the time that each direction takes between a worker and PostgreSQL.
const networkDelay = time.Millisecond

// network measures drain and latency with a delay between workers and PostgreSQL. What empties and
// fills tables and reads the log position is connected directly.
func (b *bench) network(ctx context.Context) {
	ours, river := b.contenders(ctx, "network")
	for _, f := range []*contender{ours, river} {
		f.url = b.startRelay(f.url)
	}
	b.compareDrains(ctx, ours, river, "1 ms network: ", 4, 1, 4)
	// The program that enqueues is connected through the relay too.
	for _, f := range []*contender{ours, river} {
		pool := harness.Must(pgxpool.New(ctx, f.url))
		defer pool.Close()
		f.system = newSystem(f.name, pool)
	}
	b.alternateLatency(ctx, ours, river, "1 ms network: enqueue to start", 0.7, 1)
}

// relaySpec is the spec of a process that delays connections.
type relaySpec struct {
	Network, Address string // of the server
}

// startRelay starts a relay to the server of the database and returns the URL of the database
// through it. The relay is a process of its own, so that nothing this process does makes it late.
func (b *bench) startRelay(database string) string {
	config := harness.Must(pgconn.ParseConfig(database))
	u := harness.Must(url.Parse(database))
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	c := b.StartChild(childSpec{Relay: &relaySpec{network, address}})
	harness.Check(c.Next(&u.Host))
	q := u.Query()
	q.Del("host") // the directory of the socket
	u.RawQuery = q.Encode()
	return u.String()
}

// runRelay reports its address and forwards connections to the server until it is stopped.
func runRelay(spec relaySpec) {
	l := harness.Must(net.Listen("tcp", "127.0.0.1:0"))
	go func() {
		<-harness.UntilStopped().Done()
		l.Close()
	}()
	harness.Report(l.Addr().String())
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		harness.Check(err)
		server := harness.Must(net.Dial(spec.Network, spec.Address))
		go forward(server, client)
		go forward(client, server)
	}
}

// forward sends on what comes, each byte networkDelay after it came: pipelined messages wait once.
// It closes both when one side has ended.
func forward(to, from net.Conn) {
	type chunk struct {
		data []byte
		due  time.Time
	}
	chunks := make(chan chunk, 1024)
	go func() {
		defer to.Close()
		defer from.Close()
		for c := range chunks {
			// Timers of the runtime are late by up to a millisecond.
			for left := time.Until(c.due); left > 0; left = time.Until(c.due) {
				t := syscall.NsecToTimespec(int64(left))
				_ = syscall.Nanosleep(&t, nil)
			}
			if _, err := to.Write(c.data); err != nil {
				from.Close()
			}
		}
	}()
	defer close(chunks)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		chunks <- chunk{slices.Clone(buffer[:n]), time.Now().Add(networkDelay)}
		if err != nil {
			return
		}
	}
}
