// Package service measures the teaching-feedback service: against PocketBase on the embedded
// engine, against a bare handler with the same statements on PostgreSQL, its uploads against a bare
// copy and hash, its memory, the time of a page of a long list, its export, and what
// its parts need for one recording, list and stream.
//
// Each server is a separate process; the load comes from this one. Ours runs with synchronous=FULL,
// so that an acknowledged record survives a power failure. PocketBase's default is NORMAL; both
// pairings are measured.
package service

import (
	"context"
	"math/rand/v2"

	"lessonkit.example/internal/bench/harness"
)

// Run measures the parts that the arguments name, or all: peer, peer-upload, postgres, upload,
// memory, pages, search, export, sizing.
func Run(h *harness.Harness) {
	harness.RunChild(child)
	b := &bench{h}
	h.RunParts(context.Background(), []harness.Part{
		{Name: "peer", Run: b.peer}, {Name: "peer-upload", Run: b.peerUpload}, {Name: "postgres", Run: b.postgres},
		{Name: "upload", Run: b.uploads}, {Name: "memory", Run: b.memory}, {Name: "pages", Run: b.pages},
		{Name: "search", Run: b.search},
		{Name: "export", Run: b.export}, {Name: "sizing", Run: b.sizing},
	})
}

type bench struct{ *harness.Harness }

// side is one of the two compared servers with the requests to it.
type side struct {
	*process
	status int
	request
}

// compare adds a row with the rates of two servers.
func (b *bench) compare(name, peer string, must float64, ours, theirs side) {
	rate := func(s side) func() float64 {
		return func() float64 { return harness.Must(load(s.spec.Addr, connections, s.status, s.request)) }
	}
	row := harness.Row{Name: name, Unit: "requests/s", PeerName: peer, Must: must}
	b.Alternate(row, rate(ours), rate(theirs))
}

// any returns a random teacher's token and one of their students.
func (w world) any(r *rand.Rand) (token, profile string) {
	t := r.IntN(len(w.Tokens))
	return w.Tokens[t], w.Profiles[t][r.IntN(len(w.Profiles[t]))]
}
