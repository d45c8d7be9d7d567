//go:build linux

package e2e

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
)

// Two processes behind a balancer, which checks /readyz and tries the other where a connection is
// refused, are restarted one after the other: no request fails.
func TestRollingRestartRefusesNothing(t *testing.T) {
	slow(t)
	rec := newRecogniser(t)
	a := newService(t, pgtest.URL(t), rec.url())
	// Longer than a check and its pause take on a busy machine: what the balancer opens when the
	// time is over may be reset.
	a.env = append(a.env, "DRAIN_SECONDS=5", "ASR_WORKER_CONCURRENCY=4")
	a.start(t)
	b := a.beside(t)
	b.start(t)
	services := []*service{a, b}
	front := *a
	balancer := balance(t, services)
	front.client.Base = "http://" + balancer.addr
	// A request on an idle connection may cross the server's closing of it.
	front.client.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	l := startLoad(t, 8, 100*time.Millisecond, &front)

	restarts := times(2, 6, 20)
	for i := range restarts {
		time.Sleep(soon())
		s := services[i%len(services)]
		require.NoError(t, s.process.stop(t))
		s.start(t)
		eventually(t, "the balancer has found it ready", balancer.ready[i%len(services)].Load)
	}
	sum(t, "%d rolling restarts", restarts)
	tally := audit(t, l, a, rec)
	require.Empty(t, tally.Failures, "uploads refused")
	require.Equal(t, 1, tally.Attempts, "a stop costs no attempt")
}

// checkInterval is the pause between two checks of /readyz.
const checkInterval = 200 * time.Millisecond

// balancer forwards connections to services that are ready, one after the other.
type balancer struct {
	*proxy
	ready []atomic.Bool // by the last check of each
}

func balance(t *testing.T, services []*service) *balancer {
	ready := make([]atomic.Bool, len(services))
	ctx, cancel := context.WithCancel(t.Context())
	var checks sync.WaitGroup
	for i, s := range services {
		ready[i].Store(true)
		checks.Go(func() {
			for ctx.Err() == nil {
				look, done := context.WithTimeout(ctx, 5*checkInterval) // with the interval less than DRAIN_SECONDS
				ready[i].Store(s.client.Call(look, "GET", "/readyz", nil, nil) == nil)
				done()
				select {
				case <-ctx.Done():
				case <-time.After(checkInterval):
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		checks.Wait()
	})
	var turn atomic.Int64
	front := newProxy(t, func() (net.Conn, error) {
		err := errors.New("no service accepts a connection")
		// First those that are ready, then the others: a busy machine may be too slow for a check.
		first := int(turn.Add(1))
		var order, others []*service
		for k := range services {
			if i := (first + k) % len(services); ready[i].Load() {
				order = append(order, services[i])
			} else {
				others = append(others, services[i])
			}
		}
		for _, s := range append(order, others...) {
			conn, refused := to(s.value("HTTP_ADDR"))()
			if refused == nil {
				return conn, nil
			}
			err = errors.Join(err, refused)
		}
		t.Logf("%s: the balancer refuses a connection: %v", time.Now().Format(time.StampMilli), err)
		return nil, err
	})
	return &balancer{proxy: front, ready: ready}
}
