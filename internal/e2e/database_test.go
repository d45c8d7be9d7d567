//go:build linux

package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
)

// Connections to the database are cut, stalled, or half-open.
func TestDatabaseConnectionsFail(t *testing.T) {
	slow(t)
	db := pgtest.Start(t, pgtest.Options{TCP: true})
	between := newProxy(t, to(db.Addr()))
	rec := newRecogniser(t)
	s := newService(t, through(t, db.URL(), between), rec.url())
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
	s.start(t)
	l := startLoad(t, 8, 60*time.Millisecond, s)
	var cuts, resets, stalls, deaths int
	var health time.Duration
	faults := times(8, 20, 52) // the last one leaves half-open connections
	for i := range faults {
		time.Sleep(soon())
		switch i % 4 {
		case 0:
			cuts++
			between.cut(false)
		case 1:
			resets++
			between.cut(true)
		case 2:
			stalls++
			between.stall()
			began := time.Now()
			_, err := s.client.Health(t.Context())
			require.NoError(t, err)
			health = max(health, time.Since(began))
			time.Sleep(rand.N(2 * time.Second))
			between.resume()
		case 3:
			deaths++
			between.deaden()
		}
	}
	sum(t, "connections to the database: %d cut, %d reset, %d stalled (health answered within %v), %d half-open", cuts,
		resets, stalls, health.Round(time.Millisecond), deaths)
	require.Less(t, health, 5*time.Second, "2 s on an idle machine")
	audit(t, l, s, rec)
}
