// Package asr measures what it costs to send recordings to a recogniser: processor time against copying the same file over
// a socket, and memory.
package asr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/cloud"
	"lessonkit.example/asr/local"
	"lessonkit.example/internal/bench/harness"
)

const (
	total     = 200 << 20
	rounds    = 5         // sendings for one value: a single one takes so few milliseconds that the scheduler decides
	flashSize = 100 << 20 // the largest that the flash interface takes
)

// Run adds the rows of this subject.
func Run(h *harness.Harness) error {
	if os.Getenv(drainEnv) != "" {
		return drainServer()
	}
	server, err := startDrain()
	if err != nil {
		return err
	}
	defer server.stop()
	dir, err := os.MkdirTemp("", "asr-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	large, err := recording(filepath.Join(dir, "200.wav"), total)
	if err != nil {
		return err
	}
	flash, err := recording(filepath.Join(dir, "100.wav"), flashSize)
	if err != nil {
		return err
	}
	localRec, err := local.New(local.Config{URL: "http://" + server.addr + "/v1/audio/transcriptions?model=m"})
	if err != nil {
		return err
	}
	cloudRec, err := cloud.New(cloud.Config{AppID: "1", SecretID: "id", SecretKey: "key", FlashURL: "http://" + server.addr})
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		rec   asr.Recognizer
		audio asr.Audio
	}{{"local", localRec, large}, {"cloud flash", cloudRec, flash}} {
		send := func(audio asr.Audio) error {
			for sent := int64(0); sent < total; sent += audio.Size {
				if _, err := c.rec.Recognize(context.Background(), audio); err != nil {
					return err
				}
			}
			return nil
		}
		copied := func(audio asr.Audio, direct bool) error {
			for sent := int64(0); sent < total; sent += audio.Size {
				if err := copyOver(server.addr, audio, direct); err != nil {
					return err
				}
			}
			return nil
		}
		// A connection and pools that are warm, as in a worker that runs for long.
		if err := errors.Join(send(c.audio), copied(c.audio, true)); err != nil {
			return err
		}
		row := harness.Row{Name: c.name + ": processor time for 200 MiB of a file", Unit: "ms", PeerName: "sendfile", Better: harness.Lower, Must: 1.3}
		err := h.Alternate(row, cpu(func() error { return send(c.audio) }), cpu(func() error { return copied(c.audio, true) }))
		if err != nil {
			return err
		}
		row = harness.Row{Name: c.name + ": the same against copying through a buffer", Unit: "ms", PeerName: "io.Copy", Better: harness.Lower, Must: 1.3}
		err = h.Alternate(row, cpu(func() error { return send(c.audio) }), cpu(func() error { return copied(c.audio, false) }))
		if err != nil {
			return err
		}
		stream := streamed(c.audio)
		row = harness.Row{Name: c.name + ": processor time for 200 MiB of a stream", Unit: "ms", PeerName: "io.Copy", Better: harness.Lower, Must: 1.3}
		err = h.Alternate(row, cpu(func() error { return send(stream) }), cpu(func() error { return copied(stream, false) }))
		if err != nil {
			return err
		}
		memory := harness.Row{Name: c.name + ": memory allocated for 200 MiB, all in all", Unit: "MiB", Better: harness.Lower, Must: 2}
		for range h.Pairs {
			n, err := allocated(func() error { return send(stream) })
			if err != nil {
				return err
			}
			memory.Ours = append(memory.Ours, n)
		}
		h.Add(memory)
	}
	return nil
}

// recording makes a WAV file of size bytes whose pages are really there.
func recording(path string, size int64) (asr.Audio, error) {
	f, err := os.Create(path)
	if err != nil {
		return asr.Audio{}, err
	}
	defer f.Close()
	if _, err := f.Write(audiofile.PCM{Rate: 48000, Channels: 2}.Header(size - audiofile.HeaderSize)); err != nil {
		return asr.Audio{}, err
	}
	piece := make([]byte, 1<<20)
	for i := range piece {
		piece[i] = byte(i * 31)
	}
	for left := size - audiofile.HeaderSize; left > 0; {
		n, err := f.Write(piece[:min(left, int64(len(piece)))])
		if err != nil {
			return asr.Audio{}, err
		}
		left -= int64(n)
	}
	return asr.FromFile(path)
}

// streamed hides that the recording is a file, as a store behind a network would.
func streamed(a asr.Audio) asr.Audio {
	open := a.Open
	a.Open = func() (io.ReadCloser, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.ReaderAt
			io.Closer
		}{r, r.(io.ReaderAt), r}, nil
	}
	return a
}

// copyOver copies the recording over a socket: the least that sending it can cost. The server takes it for a request.
func copyOver(addr string, a asr.Audio, direct bool) error {
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
	if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n", a.Size); err != nil {
		return err
	}
	if direct {
		_, err = io.Copy(c, r)
	} else {
		_, err = io.CopyBuffer(struct{ io.Writer }{c}, r, make([]byte, 32<<10)) // what io.Copy does where there is no sendfile
	}
	if err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

// cpu measures the processor time of this process, user and system, in milliseconds.
func cpu(f func() error) func() (float64, error) {
	return func() (float64, error) {
		runtime.GC()
		before, err := used()
		if err != nil {
			return 0, err
		}
		for range rounds {
			if err := f(); err != nil {
				return 0, err
			}
		}
		after, err := used()
		return float64(after-before) / float64(time.Millisecond) / rounds, err
	}
}

func used() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// allocated is what f allocates, in MiB; what it holds at its peak is less.
func allocated(f func() error) (float64, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20), err
}
