// Command sqlitepeer measures River on SQLite: it prints the jobs per second of
//
//	sqlitepeer FILE drain|batch|singles
//
// It is a separate module because River's newest SQLite driver needs an older River than the
// PostgreSQL driver does.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"
)

func main() {
	rate, err := run(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "sqlitepeer:", err)
		os.Exit(1)
	}
	fmt.Println(rate)
}

// Args are the same as in the other program.
type Args struct {
	N       int    `json:"n"`
	Started int64  `json:"started"`
	Name    string `json:"name"`
	Address string `json:"address"`
}

// Kind implements river.JobArgs.
func (Args) Kind() string { return "bench" }

type worker struct {
	river.WorkerDefaults[Args]
}

func (worker) Work(context.Context, *river.Job[Args]) error { return nil }

func args(i int) Args {
	return Args{N: i, Name: "Ada Lovelace", Address: "12 St James's Square, London"}
}

func run(ctx context.Context, a []string) (float64, error) {
	if len(a) != 2 {
		return 0, errors.New("usage: sqlitepeer FILE drain|batch|singles")
	}
	db, err := sql.Open("sqlite", "file:"+a[0]+
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	driver := riversqlite.New(db)
	m, err := rivermigrate.New(driver, nil)
	if err != nil {
		return 0, err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return 0, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	client, err := river.NewClient(driver, &river.Config{
		Logger:            slog.New(slog.DiscardHandler),
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
		Workers:           workers,
	})
	if err != nil {
		return 0, err
	}
	many := func(n int) error {
		for ; n > 0; n -= 1000 {
			ps := make([]river.InsertManyParams, 1000)
			for i := range ps {
				ps[i] = river.InsertManyParams{Args: args(i)}
			}
			if _, err := client.InsertMany(ctx, ps); err != nil {
				return err
			}
		}
		return nil
	}
	switch a[1] {
	case "drain":
		const n = 10_000
		if err := many(n); err != nil {
			return 0, err
		}
		completed := []river.EventKind{river.EventKindJobCompleted}
		events, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: n, Kinds: completed})
		defer unsubscribe()
		begin := time.Now()
		if err := client.Start(ctx); err != nil {
			return 0, err
		}
		for range n {
			<-events
		}
		took := time.Since(begin)
		stop, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return n / took.Seconds(), client.StopAndCancel(stop)
	case "batch":
		const n = 20_000
		begin := time.Now()
		err := many(n)
		return n / time.Since(begin).Seconds(), err
	case "singles":
		const n, callers = 1000, 8
		errs := make([]error, callers)
		begin := time.Now()
		var group sync.WaitGroup
		for c := range callers {
			group.Go(func() {
				for i := range n {
					if _, err := client.Insert(ctx, args(i), nil); err != nil {
						errs[c] = err
						return
					}
				}
			})
		}
		group.Wait()
		return float64(n*callers) / time.Since(begin).Seconds(), errors.Join(errs...)
	}
	return 0, fmt.Errorf("unknown measure %q", a[1])
}
