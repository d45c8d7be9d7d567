// Package asr measures the cost of sending recordings to a recogniser: memory, and processor time
// compared with copying the same file over a socket.
package asr

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/local"
	"lessonkit.example/internal/bench/harness"
)

const (
	total  = 200 << 20
	rounds = 5 // per value: one takes so few milliseconds that the scheduler dominates
)

// Run adds the rows of this subject.
func Run(h *harness.Harness) {
	harness.RunChild(drain)
	server := h.StartChild(struct{}{})
	var addr string
	harness.Check(server.Next(&addr))
	audio := recording(filepath.Join(h.TB.TempDir(), "200.wav"), total)
	rec := harness.Must(local.New(local.Config{URL: "http://" + addr + "/v1/audio/transcriptions?model=m"}))
	send := func() { harness.Must(rec.Recognize(context.Background(), audio)) }
	copied := func() { copyOver(addr, audio) }
	// Warm up the page cache and the pools, as in a worker that has been running for a while.
	send()
	copied()
	h.Alternate(harness.Row{
		Name: "processor time for 200 MiB", Unit: "ms", PeerName: "io.Copy",
		Better: harness.Lower, Must: 1.3,
	}, cpu(send), cpu(copied))
	h.Repeat(harness.Row{
		Name: "memory allocated in total for 200 MiB", Unit: "MiB", Better: harness.Lower, Must: 2,
	}, func() float64 { return allocated(send) })
}

// recording creates a WAV file of size bytes without holes.
func recording(path string, size int) asr.Audio {
	header := audiofile.PCM{Rate: 48000, Channels: 2}.Header(int64(size - audiofile.HeaderSize))
	harness.Check(os.WriteFile(path, append(header, make([]byte, size-len(header))...), 0o600))
	return harness.Must(asr.FromFile(path))
}

// copyOver copies the recording over a socket, which is the least that sending it can cost. It uses
// a buffer of the size that net/http uses, and not sendfile, which is not available with TLS. The
// server takes it for a request.
func copyOver(addr string, a asr.Audio) {
	c := harness.Must(net.Dial("tcp", addr))
	defer c.Close()
	r := harness.Must(a.Open())
	defer r.Close()
	harness.Must(fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", a.Size))
	harness.Must(io.CopyBuffer(struct{ io.Writer }{c}, r, make([]byte, 32<<10)))
	harness.Must(c.Read(make([]byte, 1)))
}

// cpu measures the processor time of this process in milliseconds.
func cpu(f func()) func() float64 {
	return func() float64 {
		runtime.GC()
		before := harness.ProcessorTime()
		for range rounds {
			f()
		}
		return float64(harness.ProcessorTime()-before) / float64(time.Millisecond) / rounds
	}
}

// allocated returns what f allocates in total, in MiB; its peak is lower.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
}

// drain runs in a child process, so that its work is not measured: it serves HTTP, reports its
// address, and discards what it receives.
func drain(struct{}) {
	l := harness.Must(net.Listen("tcp", "127.0.0.1:0"))
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"text":"x"}`)
	}))
	harness.Report(l.Addr().String())
	<-harness.UntilStopped().Done()
}
