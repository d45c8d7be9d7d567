package service

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"lessonkit.example/internal/bench/harness"
)

const largeSize = 100 << 20

// uploadRaw sends recordings as they are.
func uploadRaw(w world, path func(lesson string) string, size int) request {
	end := make([]byte, size-beginning)
	return func(r *rand.Rand, _ int) net.Buffers {
		token, lesson := "", ""
		if len(w.Tokens) > 0 {
			t := r.IntN(len(w.Tokens))
			token, lesson = w.Tokens[t], w.Lessons[t]
		}
		return message("POST", path(lesson), token, "audio/mpeg", recording(r, end)...)
	}
}

func bareUpload(string) string { return "/upload" }

// uploads compares with a handler that copies, syncs and renames.
func (b *bench) uploads() error {
	ours, err := b.start("ours-upload", spec{Side: "ours"})
	if err != nil {
		return err
	}
	plain, err := b.start("bare-upload", spec{Side: "bare"})
	if err != nil {
		return err
	}
	if err := b.measure("upload of 2 MB", "bare copy", 0.8, 0.95, connections,
		side{ours, 202, uploadRaw(ours.world, segmentsPath, uploadSize)}, side{plain, 202, uploadRaw(plain.world, bareUpload, uploadSize)}); err != nil {
		return err
	}
	run := func(s *process, path func(string) string) func() (float64, error) {
		next := uploadRaw(s.world, path, largeSize)
		return func() (float64, error) { return large(s, next) }
	}
	return b.Alternate(harness.Row{Name: "upload of 100 MB", Unit: "MB/s", PeerName: "bare copy", Must: 0.8, Aim: 0.95},
		run(ours, segmentsPath), run(plain, bareUpload))
}

// large sends three large recordings one after another.
func large(s *process, next request) (float64, error) {
	const count = 3
	syscall.Sync()
	started := time.Now()
	if err := send(s, 1, count, next); err != nil {
		return 0, err
	}
	return count * largeSize / 1e6 / time.Since(started).Seconds(), nil
}

// send sends a number of uploads on each of a number of connections.
func send(s *process, conns, count int, next request) error {
	errs := make([]error, conns)
	var wg sync.WaitGroup
	for c := range conns {
		wg.Go(func() {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				errs[c] = err
				return
			}
			defer conn.Close()
			in, r := bufio.NewReader(conn), rand.New(rand.NewPCG(uint64(c), uint64(time.Now().UnixNano())))
			for range count {
				if errs[c] = exchange(conn, in, next(r, 0), 202); errs[c] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// memory is how far the process grows above what it is at rest.
func (b *bench) memory() error {
	ours, err := b.start("ours-memory", spec{Side: "ours"})
	if err != nil {
		return err
	}
	upload := uploadRaw(ours.world, segmentsPath, largeSize)
	// What a first request brings in once and for all is not the upload's.
	if err := send(ours, connections, 1, uploadRaw(ours.world, segmentsPath, 1<<20)); err != nil {
		return err
	}
	for _, m := range []struct {
		name  string
		conns int
		must  float64
	}{{"memory over idle, 100 MB upload", 1, 4}, {"memory over idle, 16 such at once", connections, 32}} {
		row := harness.Row{Name: m.name, Unit: "MiB", Better: harness.Lower, Must: m.must}
		for range b.Pairs {
			idle, err := ours.memory("VmRSS")
			if err != nil {
				return err
			}
			if err := ours.forgetPeak(); err != nil {
				return err
			}
			if err := send(ours, m.conns, 1, upload); err != nil {
				return err
			}
			peak, err := ours.memory("VmHWM")
			if err != nil {
				return err
			}
			fmt.Fprintf(b.Log, "%s: %.1f over %.1f MiB\n", m.name, (peak-idle)/(1<<20), idle/(1<<20))
			row.Ours = append(row.Ours, (peak-idle)/(1<<20))
		}
		b.Add(row)
	}
	return nil
}
