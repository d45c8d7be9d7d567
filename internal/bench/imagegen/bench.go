// Package imagegen measures what receiving and sending large images costs a process: peak memory,
// and processor time, compared with openai-go. README.md explains the figures and their bounds.
//
// The service runs in the parent process, and each side in a process of its own, so that its memory
// is measured alone. Peak memory is the rise of the resident high-water mark during one call over
// the idle process after a small call; processor time is the median of the calls after it.
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
func Run(h *harness.Harness) {
	harness.RunChild(child)
	url := serve(&h.TB)
	dir := harness.Must(os.MkdirTemp("/dev/shm", "bench-imagegen")) // in memory, so that no disk is measured
	h.TB.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, c := range []struct{ n, mib int }{{1, 1}, {1, 32}, {4, 32}} {
		spec := childSpec{URL: url, N: c.n, Bytes: c.mib * mib, Dir: dir}
		compare(h, fmt.Sprintf("receive %d x %d MiB", c.n, c.mib), spec, 1)
	}
	file := filepath.Join(dir, "reference.png")
	writeReference(file, 32*mib)
	compare(h, "send 4 x 32 MiB", childSpec{URL: url, N: 4, File: file, Dir: dir}, 2)
}

// compare measures both sides once for each pair. Our memory must be at most most MiB.
func compare(h *harness.Harness, name string, spec childSpec, most float64) {
	memory := harness.Row{Name: name + ", peak memory", Unit: "MiB", PeerName: "openai-go", Better: harness.Lower}
	cpu := harness.Row{Name: name + ", processor", Unit: "ms", PeerName: "openai-go", Better: harness.Lower}
	for i := range h.Pairs {
		var got [2]measurement
		for _, k := range []int{i % 2, 1 - i%2} {
			spec.Side = []string{"ours", "openai-go"}[k]
			c := h.StartChild(spec)
			harness.Check(errors.Join(c.Next(&got[k]), c.Stop()))
		}
		h.AddPair(&memory, got[0].Peak, got[1].Peak)
		h.AddPair(&cpu, got[0].CPU, got[1].CPU)
	}
	h.Add(memory)
	memory.Peer, memory.Must = nil, most
	h.Add(memory)
	if spec.Bytes >= 32*mib { // else too short to measure, or without copies to save
		cpu.Must = 1. / 8
		h.Add(cpu)
	}
}
