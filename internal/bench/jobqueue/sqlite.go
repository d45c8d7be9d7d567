package jobqueue

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	_ "modernc.org/sqlite"

	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/jobqueue/sqlitequeue"
)

const riverSettings = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)" +
	"&_txlock=immediate"

// sqlite compares both on SQLite with synchronous=FULL.
func (b *bench) sqlite(ctx context.Context) {
	file := func() string { return filepath.Join(b.TB.TempDir(), "jobs.db") }
	for _, c := range []struct {
		name       string
		rate       func(ctx context.Context, s system, n int) float64
		ours, peer int // jobs
		must       float64
	}{
		{"SQLite drain", sqliteDrain, 100_000, 10_000, 8},
		{"SQLite insert 1000 at a time", sqliteBatch, 100_000, 20_000, 4},
		{"SQLite insert one by one, 8 callers", sqliteSingles, 8000, 8000, 0.9},
	} {
		ours := func() float64 {
			store := harness.Must(sqlitequeue.Open(file(), sqlitequeue.Config{}))
			defer store.Close()
			harness.Check(store.Migrate(ctx))
			return c.rate(ctx, newOurs(store), c.ours)
		}
		peer := func() float64 {
			db := harness.Must(sql.Open("sqlite", "file:"+file()+riverSettings))
			defer db.Close()
			db.SetMaxOpenConns(1)
			river := newPeer(riversqlite.New(db))
			harness.Check(river.migrate(ctx))
			return c.rate(ctx, river, c.peer)
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "riversqlite", Must: c.must}
		b.Alternate(row, ours, peer)
	}
}

func sqliteDrain(ctx context.Context, s system, n int) float64 {
	sqliteBatch(ctx, s, n)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var took time.Duration
	var count atomic.Int64
	begin := time.Now()
	harness.Check(s.work(ctx, 2000, func(Args) {}, func() {
		if count.Add(1) == int64(n) {
			took = time.Since(begin)
			cancel()
		}
	}))
	return float64(n) / took.Seconds()
}

func sqliteBatch(ctx context.Context, s system, n int) float64 {
	took := concurrently(1, n/1000, func(int) error { return s.insertMany(ctx, 1000) })
	return float64(n) / took.Seconds()
}

func sqliteSingles(ctx context.Context, s system, n int) float64 {
	took := concurrently(8, n/8, func(i int) error { return s.insert(ctx, argsOf(i)) })
	return float64(n) / took.Seconds()
}
