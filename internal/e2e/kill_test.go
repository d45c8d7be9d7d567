//go:build linux

package e2e

import (
	"math/rand/v2"
	"testing"
	"time"
)

// soon returns a random pause between two faults.
func soon() time.Duration { return 30*time.Millisecond + rand.N(900*time.Millisecond) }

// Servers and their workers are killed at random moments.
func TestKilledProcessesLoseNothing(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		killAtRandom(t, s, rec)
	})
}

// killAtRandom kills processes of a service, as many as the engine allows, while phones upload.
func killAtRandom(t *testing.T, s *service, rec *recogniser) {
	t.Helper()
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
	s.start(t)
	services := []*service{s}
	if s.shared() {
		services = append(services, s.beside(t))
		services[1].start(t)
	}
	l := startLoad(t, 8, 60*time.Millisecond, services...)
	kills := times(3, 15, 100)
	for range kills {
		time.Sleep(soon())
		victim := services[rand.IntN(len(services))]
		victim.process.kill()
		victim.start(t)
	}
	sum(t, "%d kills of %d processes", kills, len(services))
	audit(t, l, s, rec)
}
