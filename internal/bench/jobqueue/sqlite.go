package jobqueue

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// sqlite compares both on SQLite with synchronous=FULL. The peer is a program of another module,
// which is built here.
func (b *bench) sqlite(ctx context.Context) {
	file := func() string { return filepath.Join(b.TB.TempDir(), "jobs.db") }
	peer := buildPeer(ctx, b.TB.TempDir())
	for _, c := range []struct {
		name, mode string
		ours       func(context.Context, *ours) float64
		must       float64
	}{
		{"SQLite drain", "drain", sqliteDrain, 8},
		{"SQLite insert 1000 at a time", "batch", sqliteBatch, 4},
		{"SQLite insert one by one, 8 callers", "singles", sqliteSingles, 0.9},
	} {
		measureOurs := func() float64 {
			store := harness.Must(sqlitequeue.Open(file(), sqlitequeue.Config{}))
			defer store.Close()
			harness.Check(store.Migrate(ctx))
			return c.ours(ctx, newOurs(store))
		}
		measurePeer := func() float64 {
			var stderr bytes.Buffer
			cmd := exec.CommandContext(ctx, peer, file(), c.mode)
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				harness.Check(fmt.Errorf("%w: %s", err, &stderr))
			}
			return harness.Must(strconv.ParseFloat(strings.TrimSpace(string(out)), 64))
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "riversqlite", Must: c.must}
		b.Alternate(row, measureOurs, measurePeer)
	}
}

func buildPeer(ctx context.Context, dir string) string {
	program := filepath.Join(dir, "sqlitepeer")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	cmd.Dir = "jobqueue/sqlitepeer" // the program runs in internal/bench
	if out, err := cmd.CombinedOutput(); err != nil {
		harness.Check(fmt.Errorf("build sqlitepeer: %w: %s", err, out))
	}
	return program
}

func sqliteDrain(ctx context.Context, o *ours) float64 {
	const n = 100_000
	harness.Check(o.insertMany(ctx, n))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var took time.Duration
	var count atomic.Int64
	begin := time.Now()
	harness.Check(o.work(ctx, 2000, func(Args) {}, func() {
		if count.Add(1) == n {
			took = time.Since(begin)
			cancel()
		}
	}))
	return n / took.Seconds()
}

func sqliteBatch(ctx context.Context, o *ours) float64 {
	took := concurrently(1, 100, func(int) error { return o.insertMany(ctx, 1000) })
	return 100_000 / took.Seconds()
}

func sqliteSingles(ctx context.Context, o *ours) float64 {
	took := concurrently(8, 1000, func(i int) error { return o.insert(ctx, argsOf(i)) })
	return 8000 / took.Seconds()
}
