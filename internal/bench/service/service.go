// Package service measures the teaching-feedback service: against PocketBase on the embedded
// engine, against a bare handler with the same statements on PostgreSQL, its uploads against a bare
// copy and hash, its memory, the time of a page of a long list, its export, and what tracing costs
// while it is off.
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
// memory, pages, export, tracing.
func Run(h *harness.Harness) error {
	harness.RunChild(child)
	b := &bench{h}
	return h.RunParts(context.Background(), []harness.Part{
		{Name: "peer", Run: b.peer}, {Name: "peer-upload", Run: b.peerUpload}, {Name: "postgres", Run: b.postgres},
		{Name: "upload", Run: b.uploads}, {Name: "memory", Run: b.memory}, {Name: "pages", Run: b.pages},
		{Name: "export", Run: b.export}, {Name: "tracing", Run: b.tracing},
	})
}

type bench struct{ *harness.Harness }

// side is one of the two compared servers with the requests to it.
type side struct {
	*process
	status int
	request
}

// measure compares the rates of two servers, and adds a row with their 99th percentiles.
func (b *bench) measure(name, peer string, must, aim float64, ours, theirs side) error {
	tails := [2][]float64{}
	run := func(i int, s side) func() (float64, error) {
		return func() (float64, error) {
			res, err := load(s.spec.Addr, connections, s.status, s.request)
			tails[i] = append(tails[i], res.p99)
			return res.rate, err
		}
	}
	row := harness.Row{Name: name, Unit: "requests/s", PeerName: peer, Must: must, Aim: aim}
	if err := b.Alternate(row, run(0, ours), run(1, theirs)); err != nil {
		return err
	}
	b.Add(harness.Row{Name: name + ", p99", Unit: "ms", PeerName: peer, Better: harness.Lower,
		Ours: tails[0], Peer: tails[1]})
	return nil
}

// any returns a random teacher's token and one of their students.
func (w world) any(r *rand.Rand) (token, profile string) {
	t := r.IntN(len(w.Tokens))
	return w.Tokens[t], w.Profiles[t][r.IntN(len(w.Profiles[t]))]
}
