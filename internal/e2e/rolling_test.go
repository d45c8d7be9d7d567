//go:build linux

package e2e

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
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
		eventually(t, "the balancer has found it ready", func() bool { return balancer.ready(i % len(services)) })
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
	states []atomic.Int32 // a verdict on each
}

// What the last checks told of a service: the lower, the sooner it gets a connection. Where a check
// was not answered in time, as on a busy machine, one that is about to stop stays so.
const (
	ready = iota
	silent
	stopping
)

func balance(t *testing.T, services []*service) *balancer {
	b := &balancer{states: make([]atomic.Int32, len(services))}
	ctx, cancel := context.WithCancel(t.Context())
	var checks sync.WaitGroup
	for i, s := range services {
		checks.Go(func() {
			for ctx.Err() == nil {
				look, done := context.WithTimeout(ctx, 5*checkInterval) // with the interval less than DRAIN_SECONDS
				err := s.client.Call(look, "GET", "/readyz", nil, nil)
				switch {
				case err == nil:
					b.states[i].Store(ready)
				case look.Err() == nil:
					b.states[i].Store(stopping)
				default:
					b.states[i].CompareAndSwap(ready, silent)
				}
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
	b.proxy = newProxy(t, func() (net.Conn, error) {
		first := int(turn.Add(1))
		order := make([]int, len(services))
		for k := range order {
			order[k] = (first + k) % len(services)
		}
		slices.SortStableFunc(order, func(i, j int) int { return int(b.states[i].Load() - b.states[j].Load()) })
		err := errors.New("no service accepts a connection")
		for _, i := range order {
			conn, refused := to(services[i].value("HTTP_ADDR"))()
			if refused == nil {
				return conn, nil
			}
			err = errors.Join(err, refused)
		}
		t.Logf("%s: the balancer refuses a connection: %v", time.Now().Format(time.StampMilli), err)
		return nil, err
	})
	return b
}

func (b *balancer) ready(i int) bool { return b.states[i].Load() == ready }
