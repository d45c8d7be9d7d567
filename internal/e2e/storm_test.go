//go:build linux

package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
)

// All faults together.
func TestStormLosesNothing(t *testing.T) {
	slow(t)
	db := pgtest.Start(t, pgtest.Options{Durable: true, TCP: true})
	between := newProxy(t, to(db.Addr()))
	rec := newRecogniser(t)
	s := newService(t, through(t, db.URL(), between), rec.url())
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
	s.start(t)
	services := []*service{s, s.beside(t)}
	services[1].start(t)
	l := startLoad(t, 8, 80*time.Millisecond, services...)

	var down []*service
	faults := []func(){
		func() { // a process dies
			victim := services[rand.IntN(len(services))]
			victim.process.kill()
			if !slices.Contains(down, victim) {
				down = append(down, victim)
			}
		},
		func() { // and is restarted later
			for _, s := range down {
				s.start(t)
			}
			down = nil
		},
		func() {
			db.Kill()
			time.Sleep(rand.N(500 * time.Millisecond))
			db.Restart(t)
		},
		func() { between.cut(rand.IntN(2) == 0) },
		func() { between.deaden() },
		func() {
			between.stall()
			time.Sleep(rand.N(time.Second))
			between.resume()
		},
		func() {
			rec.down()
			time.Sleep(rand.N(time.Second))
			rec.up(t)
		},
		func() {
			victim := services[rand.IntN(len(services))]
			if !slices.Contains(down, victim) {
				require.NoError(t, victim.process.stop(t))
				down = append(down, victim)
			}
		},
	}
	count := times(8, 24, 80)
	for i := range count {
		time.Sleep(soon())
		faults[(i+rand.IntN(2))%len(faults)]()
	}
	for _, s := range down {
		s.start(t)
	}
	sum(t, "%d faults of %d kinds", count, len(faults))
	audit(t, l, s, rec)
}
