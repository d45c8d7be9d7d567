// Package service measures the teaching-feedback service: against PocketBase on the embedded
// engine, against a bare handler with the same statements on PostgreSQL, its uploads against a bare
// copy and hash, its memory, and the time of a page of a long list.
//
// Each server is a separate process; the load comes from this one. Ours runs with synchronous=FULL,
// so that an acknowledged record survives a power failure. PocketBase's default is NORMAL; both
// pairings are measured.
package service

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"lessonkit.example/internal/bench/harness"
)

// Run measures the parts that the arguments name, or all: peer, peer-upload, postgres, upload,
// memory, pages.
func Run(h *harness.Harness) error {
	if text := os.Getenv(childEnv); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "bench-service")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{Harness: h, dir: dir}
	defer b.stopAll()
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"peer", b.peer}, {"peer-upload", b.peerUpload}, {"postgres", b.postgres},
		{"upload", b.uploads}, {"memory", b.memory}, {"pages", b.pages},
	} {
		if len(h.Args) == 0 || slices.Contains(h.Args, part.name) {
			if err := part.run(); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
			b.stopAll()
		}
	}
	return nil
}

type bench struct {
	*harness.Harness
	dir     string
	running []*process
}

func (b *bench) start(name string, s spec) (*process, error) {
	s.Dir = filepath.Join(b.dir, name)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	if s.Side == "ours" && s.URL == "" {
		s.URL = "sqlite:" + filepath.Join(s.Dir, "feedback.db")
	}
	fmt.Fprintf(b.Log, "starting %s\n", name)
	c, err := start(s)
	if err != nil {
		return nil, err
	}
	b.running = append(b.running, c)
	return c, nil
}

func (b *bench) stopAll() {
	for _, c := range b.running {
		_ = c.stop() // it is killed with this process anyway
	}
	b.running = nil
}

// side is one of the two compared servers with the requests to it.
type side struct {
	*process
	status int
	request
}

// measure compares the rates of two servers, and adds a row with their 99th percentiles.
func (b *bench) measure(name, peer string, must, aim float64, conns int, ours, theirs side) error {
	tails := [2][]float64{}
	run := func(i int, s side) func() (float64, error) {
		return func() (float64, error) {
			res, err := load(s.spec.Addr, conns, s.status, s.request)
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
