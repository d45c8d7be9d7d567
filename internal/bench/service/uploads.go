package service

import (
	"bufio"
	"context"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/internal/bench/harness"
)

const largeSize = 100 << 20

// uploadRaw sends recordings as the body.
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

// uploads compares with a handler that copies, hashes, syncs and renames.
func (b *bench) uploads(context.Context) error {
	ours, err := b.start(spec{Side: "ours"})
	if err != nil {
		return err
	}
	plain, err := b.start(spec{Side: "bare"})
	if err != nil {
		return err
	}
	if err := b.measure("upload of 2 MB", "bare copy + hash", 0.8, 0.95,
		side{ours, 202, uploadRaw(ours.world, segmentsPath, uploadSize)},
		side{plain, 202, uploadRaw(plain.world, bareUpload, uploadSize)}); err != nil {
		return err
	}
	run := func(s *process, path func(string) string) func() (float64, error) {
		next := uploadRaw(s.world, path, largeSize)
		return func() (float64, error) {
			const count = 3 // in sequence
			syscall.Sync()
			started := time.Now()
			err := send(s, 1, count, next)
			return count * largeSize / 1e6 / time.Since(started).Seconds(), err
		}
	}
	row := harness.Row{Name: "upload of 100 MB", Unit: "MB/s", PeerName: "bare copy + hash", Must: 0.8, Aim: 0.95}
	return b.Alternate(row, run(ours, segmentsPath), run(plain, bareUpload))
}

// send sends a number of uploads on each of several connections.
func send(s *process, conns, count int, next request) error {
	var g errgroup.Group
	for c := range conns {
		g.Go(func() error {
			conn, err := net.Dial("tcp", s.spec.Addr)
			if err != nil {
				return err
			}
			defer conn.Close()
			in, r := bufio.NewReader(conn), rand.New(rand.NewPCG(uint64(c), uint64(time.Now().UnixNano())))
			for range count {
				if err := exchange(conn, in, next(r, 0), 202); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// memory measures how much memory uploads take above that of the idle process.
func (b *bench) memory(context.Context) error {
	ours, err := b.start(spec{Side: "ours"})
	if err != nil {
		return err
	}
	upload := uploadRaw(ours.world, segmentsPath, largeSize)
	// What the first requests allocate once is not part of the figure.
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
			over, err := memoryOver(ours.Pid(), func() error { return send(ours, m.conns, 1, upload) })
			if err != nil {
				return err
			}
			row.Ours = append(row.Ours, over/(1<<20))
		}
		b.Add(row)
	}
	return nil
}
