// Package jobqueue compares package jobqueue with River on PostgreSQL and SQLite, and with plain
// SQL.
//
//	go run . jobqueue [-check] [-json FILE] [-pairs N] [PART…]
//
// Without parts all of them run: drain, raw, insert, latency, backlog, pinned, sqlite. Workers are
// separate processes; a job counts when its end is durable.
package jobqueue

import (
	"context"
	"fmt"
	"os"
	"slices"

	"lessonkit.example/internal/bench/harness"
)

// part is one part of the comparison.
type part struct {
	name string
	run  func(context.Context, *bench) error
}

var parts = []part{
	{"drain", drain}, {"raw", raw}, {"insert", insert}, {"latency", latency}, {"backlog", backlog}, {"pinned", pinned},
	{"sqlite", sqlite},
}

// Run measures the parts given on the command line.
func Run(h *harness.Harness) error {
	if spec := os.Getenv(childEnv); spec != "" {
		return child(spec)
	}
	for _, arg := range h.Args {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == arg }) {
			return fmt.Errorf("unknown part %q", arg)
		}
	}
	ctx := context.Background()
	t := &harness.TB{}
	defer t.Release()
	pg, err := startServer(ctx, t)
	if err != nil {
		return err
	}
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

// Kind implements river.JobArgs.
func (Args) Kind() string { return "bench" }

func argsOf(n int) Args {
	return Args{N: n, Name: "Ada Lovelace", Address: "12 St James's Square, London"}
}
