package jobqueue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/internal/sqlitedb"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// sqlite compares both on SQLite with synchronous=FULL. The peer is a program of another module,
// which is built here.
func sqlite(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp("", "jobqueue-bench-sqlite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peer, err := buildPeer(ctx, dir)
	if err != nil {
		return err
	}
	files := 0
	file := func() string {
		files++
		return filepath.Join(dir, fmt.Sprintf("%d.db", files))
	}
	for _, c := range []struct {
		name, mode string
		ours       func(ctx context.Context, store *sqlitequeue.Store) (float64, error)
		must, aim  float64
	}{
		{"SQLite drain", "drain", sqliteDrain, 8, 12},
		{"SQLite insert 1000 at a time", "batch", sqliteBatch, 4, 10},
		{"SQLite insert one by one, 8 callers", "singles", sqliteSingles, 0.9, 2},
	} {
		ours := func() (float64, error) {
			db, err := sqlitedb.Open(file())
			if err != nil {
				return 0, err
			}
			defer db.Close()
			store := sqlitequeue.New(db.W, db.R, sqlitequeue.Config{})
			if err := store.Migrate(ctx); err != nil {
				return 0, err
			}
			return c.ours(ctx, store)
		}
		theirs := func() (float64, error) {
			var stderr bytes.Buffer
			cmd := exec.CommandContext(ctx, peer, file(), c.mode)
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				return 0, fmt.Errorf("%w: %s", err, &stderr)
			}
			return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		}
		row := harness.Row{Name: c.name, Unit: "jobs/s", PeerName: "riversqlite", Must: c.must, Aim: c.aim}
		if err := b.Alternate(row, ours, theirs); err != nil {
			return err
		}
	}
	return nil
}

func buildPeer(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "sqlitepeer")
	if _, err := os.Stat("jobqueue/sqlitepeer"); err != nil {
		return "", errors.New("run from internal/bench: the SQLite peer is built from jobqueue/sqlitepeer")
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	cmd.Dir = "jobqueue/sqlitepeer"
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build sqlitepeer: %w: %s", err, out)
	}
	return program, err
}

func sqliteDrain(ctx context.Context, store *sqlitequeue.Store) (float64, error) {
	const n = 100_000
	client := jobqueue.NewClient(store)
	if _, err := client.EnqueueMany(ctx, params(n)); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	count, done := 0, make(chan struct{})
	w := jobqueue.NewWorker(store, workerConfig(2000, func() {
		mu.Lock()
		defer mu.Unlock()
		if count++; count == n {
			close(done)
		}
	}))
	jobqueue.Handle(w, "bench", func(context.Context, *jobqueue.Job, Args) error { return nil })
	ended := make(chan error, 1)
	begin := time.Now()
	go func() { ended <- w.Run(ctx) }()
	<-done
	took := time.Since(begin)
	cancel()
	return n / took.Seconds(), <-ended
}

func sqliteBatch(ctx context.Context, store *sqlitequeue.Store) (float64, error) {
	const n = 100_000
	client := jobqueue.NewClient(store)
	begin := time.Now()
	for range n / 1000 {
		if _, err := client.EnqueueMany(ctx, params(1000)); err != nil {
			return 0, err
		}
	}
	return n / time.Since(begin).Seconds(), nil
}

func sqliteSingles(ctx context.Context, store *sqlitequeue.Store) (float64, error) {
	const n, callers = 1000, 8
	client := jobqueue.NewClient(store)
	errs := make([]error, callers)
	begin := time.Now()
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := range n {
				if _, err := client.Enqueue(ctx, jobqueue.Params{Kind: "bench", Args: argsOf(i)}); err != nil {
					errs[c] = err
					return
				}
			}
		})
	}
	group.Wait()
	return float64(n*callers) / time.Since(begin).Seconds(), errors.Join(errs...)
}
