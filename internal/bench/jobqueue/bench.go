// Package jobqueue compares package jobqueue with River on PostgreSQL and SQLite, and with plain
// SQL.
//
//	go run . jobqueue [-check] [-pairs N] [PART…]
//
// Without parts all of them run: drain, raw, insert, latency, backlog, pinned, keys, sqlite,
// network. Workers are separate processes; a job counts when its end is durable.
package jobqueue

import (
	"context"

	"lessonkit.example/internal/bench/harness"
)

// Run measures the parts given on the command line.
func Run(h *harness.Harness) {
	harness.RunChild(child)
	ctx := context.Background()
	pg := startServer(ctx, &h.TB)
	b := &bench{Harness: h, pg: pg}
	h.RunParts(ctx, []harness.Part{
		{Name: "drain", Run: b.drain}, {Name: "raw", Run: b.raw}, {Name: "insert", Run: b.insert},
		{Name: "latency", Run: b.latency}, {Name: "backlog", Run: b.backlog}, {Name: "pinned", Run: b.pinned},
		{Name: "keys", Run: b.keys},
		{Name: "sqlite", Run: b.sqlite}, {Name: "network", Run: b.network},
	})
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
