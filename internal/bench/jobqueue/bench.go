// Package jobqueue measures package jobqueue against River on PostgreSQL and on SQLite, and against plain SQL.
//
//	go run . jobqueue [-check] [-json FILE] [-pairs N] [PART…]
//
// Without parts all are run: drain, raw, insert, latency, backlog, pinned, sqlite. A private PostgreSQL is started
// (fsync on, synchronous_commit on) unless DATABASE_URL names one, whose databases jobqueue_bench_* are then dropped and
// made anew. Workers are processes of their own; a job counts when its end is durable.
package jobqueue

import (
	"context"
	"fmt"
	"os"
	"slices"

	"lessonkit.example/internal/bench/harness"
)

// Run measures the parts that the command line names.
func Run(h *harness.Harness) error {
	if spec := os.Getenv(childEnv); spec != "" {
		return child(spec)
	}
	ctx := context.Background()
	parts := []struct {
		name string
		run  func(context.Context, *bench) error
	}{
		{"drain", drain}, {"raw", raw}, {"insert", insert}, {"latency", latency}, {"backlog", backlog}, {"pinned", pinned},
		{"sqlite", sqlite},
	}
	for _, arg := range h.Args {
		if !slices.ContainsFunc(parts, func(p struct {
			name string
			run  func(context.Context, *bench) error
		}) bool {
			return p.name == arg
		}) {
			return fmt.Errorf("unknown part %q", arg)
		}
	}
	pg, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer pg.stop()
	b := &bench{Harness: h, pg: pg}
	for _, p := range parts {
		if len(h.Args) > 0 && !slices.Contains(h.Args, p.name) {
			continue
		}
		if err := p.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

type bench struct {
	*harness.Harness
	pg *server
}

// Args are the arguments of every job, about 100 bytes of JSON.
type Args struct {
	N       int    `json:"n"`
	Started int64  `json:"started"` // nanoseconds, for latency
	Name    string `json:"name"`
	Address string `json:"address"`
}

// Kind is River's way to name the kind.
func (Args) Kind() string { return "bench" }

func argsOf(n int) Args {
	return Args{N: n, Name: "Ada Lovelace", Address: "12 St James's Square, London"}
}
