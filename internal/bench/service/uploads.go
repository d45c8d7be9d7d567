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

const (
	uploadSize = 2 << 20
	largeSize  = 100 << 20
)

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
func (b *bench) uploads(context.Context) {
	ours := b.start(spec{Side: "ours"})
	plain := b.start(spec{Side: "bare"})
	b.alternateUploads("upload of 2 MB", "bare copy + hash", 0.8, uploadSize,
		side{ours, 202, uploadRaw(ours.world, segmentsPath, uploadSize)},
		side{plain, 202, uploadRaw(plain.world, bareUpload, uploadSize)})
	b.alternateUploads("upload of 100 MB", "bare copy + hash", 0.8, largeSize,
		side{ours, 202, uploadRaw(ours.world, segmentsPath, largeSize)},
		side{plain, 202, uploadRaw(plain.world, bareUpload, largeSize)})
}

// alternateUploads compares the rates of two servers. Within each pair they take turns of 128 MB,
// sent over several connections, or of 100 MB over one: many disks write fast until they have used
// up a credit, so that in longer turns the side would win that found it refilled.
func (b *bench) alternateUploads(name, peer string, must float64, size int, ours, theirs side) {
	turns, conns, count := 10, connections, 4
	if size == largeSize {
		turns, conns, count = 5, 1, 1
	}
	turn := func(s side) func() (float64, time.Duration) {
		return func() (float64, time.Duration) {
			syscall.Sync() // writes of the other side are not part of this turn
			started := time.Now()
			send(s, conns, count)
			return float64(conns*count*size) / 1e6, time.Since(started)
		}
	}
	for _, s := range []side{ours, theirs} { // warms up
		turn(s)()
	}
	b.AlternateTurns(harness.Row{Name: name, Unit: "MB/s", PeerName: peer, Must: must}, turns,
		turn(ours), turn(theirs))
}

// send sends a number of uploads on each of several connections.
func send(s side, conns, count int) {
	var g errgroup.Group
	seed := uint64(time.Now().UnixNano())
	for c := range conns {
		g.Go(func() error {
			conn, err := net.Dial("tcp", s.spec.Addr)
			if err != nil {
				return err
			}
			defer conn.Close()
			in, r := bufio.NewReader(conn), rand.New(rand.NewPCG(uint64(c), seed))
			for n := range count {
				if err := exchange(conn, in, s.request(r, n), s.status); err != nil {
					return err
				}
			}
			return nil
		})
	}
	harness.Check(g.Wait())
}

// memory measures how much memory uploads take above that of the idle process.
func (b *bench) memory(context.Context) {
	ours := b.start(spec{Side: "ours"})
	upload := side{ours, 202, uploadRaw(ours.world, segmentsPath, largeSize)}
	// What the first requests allocate once is not part of the figure.
	send(side{ours, 202, uploadRaw(ours.world, segmentsPath, 1<<20)}, connections, 1)
	for _, m := range []struct {
		name  string
		conns int
		must  float64
	}{{"memory over idle, 100 MB upload", 1, 4}, {"memory over idle, 16 such at once", connections, 32}} {
		row := harness.Row{Name: m.name, Unit: "MiB", Better: harness.Lower, Must: m.must}
		b.Repeat(row, func() float64 {
			return memoryOver(ours.Pid(), func() { send(upload, m.conns, 1) }) / (1 << 20)
		})
	}
}
