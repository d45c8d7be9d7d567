// Package imagegen measures what receiving and sending large images costs a process: peak memory,
// processor time, and how many generations are started when the connection breaks. README.md
// explains the figures and their bounds.
//
// The service runs in the parent process, and each variant in a process of its own, so that its
// memory is measured alone. Peak memory is the rise of the resident high-water mark during one call
// over the idle process after a small call; processor time is the median of the calls after it.
package imagegen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lessonkit.example/internal/bench/harness"
)

const mib = 1 << 20

// Run measures everything.
func Run(h *harness.Harness) error {
	harness.RunChild(child)
	service, err := serve()
	if err != nil {
		return err
	}
	defer service.close()
	dir, err := os.MkdirTemp("/dev/shm", "bench-imagegen") // in memory, so that no disk is measured
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, c := range []struct{ n, mib int }{{1, 1}, {1, 32}, {4, 32}} {
		if err := receive(h, service, dir, c.n, c.mib); err != nil {
			return err
		}
	}
	if err := send(h, service, dir, 4, 32); err != nil {
		return err
	}
	return faults(h, service)
}

// receive compares receiving n images of the given size each.
func receive(h *harness.Harness, s *service, dir string, n, size int) error {
	name := fmt.Sprintf("receive %d x %d MiB", n, size)
	got, err := measure(h, name, func(variant string) childSpec {
		return childSpec{Task: "receive " + variant, URL: s.url, N: n, Bytes: size * mib, Dir: dir, Calls: 3}
	})
	if err != nil {
		return err
	}
	addMemory(h, name, got, 1, 0.5)
	if size >= 32 { // else too short to measure processor time
		addProcessor(h, name, got, "floor", 1.3, 1.1)
		addProcessor(h, name, got, "openai-go", 1./8, 1./12)
	}
	return nil
}

// send compares sending n reference images of the given size each.
func send(h *harness.Harness, s *service, dir string, n, size int) error {
	name := filepath.Join(dir, "reference.png")
	if err := writeReference(name, size*mib); err != nil {
		return err
	}
	whole := filepath.Join(dir, "whole.png")
	if err := writeReference(whole, n*size*mib); err != nil {
		return err
	}
	title := fmt.Sprintf("send %d x %d MiB", n, size)
	got, err := measure(h, title, func(variant string) childSpec {
		file := name
		if variant == "floor" {
			file = whole
		}
		return childSpec{Task: "send " + variant, URL: s.url, N: n, File: file, Dir: dir, Calls: 5}
	})
	if err != nil {
		return err
	}
	addMemory(h, title, got, 2, 1.2)
	addProcessor(h, title, got, "floor", 1.3, 1.15)
	addProcessor(h, title, got, "openai-go", 0, 0)
	return nil
}

// addMemory adds the peak memory of ours with its bounds, and compared with openai-go.
func addMemory(h *harness.Harness, name string, got map[string]*series, must, aim float64) {
	row := harness.Row{Name: name + ", peak memory", Unit: "MiB", Better: harness.Lower, Ours: got["ours"].peak}
	bounded := row
	bounded.Must, bounded.Aim = must, aim
	h.Add(bounded)
	row.Peer, row.PeerName = got["openai-go"].peak, "openai-go"
	h.Add(row)
}

func addProcessor(h *harness.Harness, name string, got map[string]*series, peer string, must, aim float64) {
	h.Add(harness.Row{Name: name + ", processor", Unit: "ms", Better: harness.Lower, Ours: got["ours"].cpu,
		Peer: got[peer].cpu, PeerName: peer, Must: must, Aim: aim})
}

type series struct{ peak, cpu []float64 }

// measure runs every variant once for each pair, in rotating order.
func measure(h *harness.Harness, name string, spec func(variant string) childSpec) (map[string]*series, error) {
	variants := []string{"ours", "floor", "openai-go"}
	got := map[string]*series{"ours": {}, "floor": {}, "openai-go": {}}
	for i := range h.Pairs {
		for k := range variants {
			variant := variants[(i+k)%len(variants)]
			m, err := start(h, spec(variant))
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", name, variant, err)
			}
			s := got[variant]
			s.peak, s.cpu = append(s.peak, m.Peak), append(s.cpu, m.CPU)
			fmt.Fprintf(h.Log, "%s, round %d of %d, %s: %.2f MiB, %.1f ms processor, %.1f ms\n", name, i+1, h.Pairs,
				variant, m.Peak, m.CPU, m.Wall)
		}
	}
	return got, nil
}

// start runs one variant in its own process.
func start(h *harness.Harness, spec childSpec) (m measurement, err error) {
	c, err := h.StartChild(spec)
	if err != nil {
		return m, err
	}
	err = c.Next(&m)
	return m, errors.Join(c.Stop(), err)
}

// faults counts the generations that one call starts, by ours and by openai-go with their defaults,
// and by ours with Retry.UnsentOnly. Our call must report every generation that may have run.
func faults(h *harness.Harness, s *service) error {
	for _, f := range []struct {
		fault, name string
		must        float64 // for our defaults
	}{
		{"drop", "the connection breaks after the request was read", 3},
		{"502", "502", 1},
		{"slow", "the HTTP client's timeout", 1},
		{"middle", "the connection breaks within the response", 1},
	} {
		var counts [3]float64
		for i, task := range []string{"fault ours", "fault openai-go", "fault unsent"} {
			s.reset()
			m, err := start(h, childSpec{Task: task, URL: s.url, Fault: f.fault})
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			n := s.count()
			counts[i] = float64(n)
			if task != "fault openai-go" && (m.Attempts != n || !m.MayHaveRun) {
				return fmt.Errorf("%s, %s: %d generations started, %d reported, may have run: %v",
					f.name, task, n, m.Attempts, m.MayHaveRun)
			}
		}
		h.Add(harness.Row{Name: "generations when: " + f.name, Unit: "", Better: harness.Lower, Ours: counts[:1],
			Must: f.must})
		h.Add(harness.Row{Name: "generations when: " + f.name, Unit: "", Better: harness.Lower, Ours: counts[:1],
			Peer: counts[1:2], PeerName: "openai-go"})
		h.Add(harness.Row{Name: "the same with Retry.UnsentOnly", Unit: "", Better: harness.Lower, Ours: counts[2:3],
			Must: 1})
	}
	return nil
}
