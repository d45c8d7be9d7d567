package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"lessonkit.example/internal/pgtest"
)

// The database is killed and restarted under load.
func TestPostgresRestartsLoseNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.Start(t, pgtest.Options{Durable: true})
	rec := newRecogniser(t)
	s := newService(t, db.URL(), rec.url())
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
	s.start(t)
	l := startLoad(t, 8, 60*time.Millisecond, s)
	restarts := times(2, 5, 20)
	for range restarts {
		time.Sleep(soon())
		db.Kill()
		time.Sleep(rand.N(time.Second))
		db.Restart(t)
	}
	sum(t, "%d restarts of PostgreSQL", restarts)
	l.audit(t, s, rec)
}

// Connections to the database are cut, held up, or swallow everything.
func TestDatabaseConnectionsFail(t *testing.T) {
	t.Parallel()
	db := pgtest.Start(t, pgtest.Options{TCP: true})
	between := newProxy(t, to(db.Addr()))
	rec := newRecogniser(t)
	s := newService(t, through(t, db.URL(), between), rec.url())
	s.env = append(s.env, "ASR_WORKER_CONCURRENCY=4")
	s.start(t)
	l := startLoad(t, 8, 60*time.Millisecond, s)
	var cuts, resets, stalls, deaths int
	faults := times(8, 20, 50)
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
			time.Sleep(rand.N(2 * time.Second))
			between.resume()
		case 3:
			deaths++
			between.deaden()
		}
	}
	sum(t, "connections to the database: %d cut, %d reset, %d held up, %d swallowing", cuts, resets, stalls, deaths)
	l.audit(t, s, rec)
}
