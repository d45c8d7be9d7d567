// Package asr measures the cost of sending recordings to a recogniser: memory, and processor time
// compared with copying the same file over a socket.
package asr

import (
	"context"
	"errors"
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
	"lessonkit.example/asr/cloud"
	"lessonkit.example/asr/local"
	"lessonkit.example/internal/bench/harness"
)

const (
	total     = 200 << 20
	rounds    = 5         // per value: one takes so few milliseconds that the scheduler dominates
	flashSize = 100 << 20 // the limit of the flash interface
)

// Run adds the rows of this subject.
func Run(h *harness.Harness) error {
	harness.RunChild(drain)
	server, err := h.StartChild(struct{}{})
	if err != nil {
		return err
	}
	var addr string
	if err := server.Next(&addr); err != nil {
		return err
	}
	dir := h.TB.TempDir()
	large, err := recording(filepath.Join(dir, "200.wav"), total)
	if err != nil {
		return err
	}
	flash, err := recording(filepath.Join(dir, "100.wav"), flashSize)
	if err != nil {
		return err
	}
	localRec, err := local.New(local.Config{URL: "http://" + addr + "/v1/audio/transcriptions?model=m"})
	if err != nil {
		return err
	}
	cloudRec, err := cloud.New(cloud.Config{
		AppID: "1", SecretID: "id", SecretKey: "key", FlashURL: "http://" + addr,
	})
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		rec   asr.Recognizer
		audio asr.Audio
	}{{"local", localRec, large}, {"cloud flash", cloudRec, flash}} {
		repeat := func(f func() error) func() error {
			return func() error {
				for sent := int64(0); sent < total; sent += c.audio.Size {
					if err := f(); err != nil {
						return err
					}
				}
				return nil
			}
		}
		send := repeat(func() error {
			_, err := c.rec.Recognize(context.Background(), c.audio)
			return err
		})
		copied := repeat(func() error { return copyOver(addr, c.audio) })
		// Warm up the page cache and the pools, as in a worker that has been running for a while.
		if err := errors.Join(send(), copied()); err != nil {
			return err
		}
		err := h.Alternate(harness.Row{
			Name: c.name + ": processor time for 200 MiB", Unit: "ms", PeerName: "io.Copy",
			Better: harness.Lower, Must: 1.3,
		}, cpu(send), cpu(copied))
		if err != nil {
			return err
		}
		err = h.Repeat(harness.Row{
			Name: c.name + ": memory allocated in total for 200 MiB", Unit: "MiB", Better: harness.Lower, Must: 2,
		}, func() (float64, error) { return allocated(send) })
		if err != nil {
			return err
		}
	}
	return nil
}

// recording creates a WAV file of size bytes without holes.
func recording(path string, size int) (asr.Audio, error) {
	header := audiofile.PCM{Rate: 48000, Channels: 2}.Header(int64(size - audiofile.HeaderSize))
	if err := os.WriteFile(path, append(header, make([]byte, size-len(header))...), 0o600); err != nil {
		return asr.Audio{}, err
	}
	return asr.FromFile(path)
}

// copyOver copies the recording over a socket, which is the least that sending it can cost. It uses
// a buffer of the size that net/http uses, and not sendfile, which is not available with TLS. The
// server takes it for a request.
func copyOver(addr string, a asr.Audio) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := a.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", a.Size); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{c}, r, make([]byte, 32<<10)); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

// cpu measures the processor time of this process in milliseconds.
func cpu(f func() error) func() (float64, error) {
	return func() (float64, error) {
		runtime.GC()
		before := harness.ProcessorTime()
		for range rounds {
			if err := f(); err != nil {
				return 0, err
			}
		}
		return float64(harness.ProcessorTime()-before) / float64(time.Millisecond) / rounds, nil
	}
}

// allocated returns what f allocates in total, in MiB; its peak is lower.
func allocated(f func() error) (float64, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20), err
}

// drain runs in a child process, so that its work is not measured: it serves HTTP, reports its
// address, and discards what it receives.
func drain(struct{}) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"code":0,"text":"x","flash_result":[{"text":"x"}]}`)
	}))
	if err := harness.Report(l.Addr().String()); err != nil {
		return err
	}
	<-harness.UntilStopped().Done()
	return nil
}
