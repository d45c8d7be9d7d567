package asrtest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
)

// LargeFile makes a recording of size bytes that takes no room on the disk: a header and silence of 48 kHz and two channels.
func LargeFile(t testing.TB, size int64) asr.Audio {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large.wav")
	head := audiofile.PCM{Rate: 48000, Channels: 2}.Header(size - audiofile.HeaderSize)
	require.NoError(t, os.WriteFile(path, head, 0o600))
	require.NoError(t, os.Truncate(path, size))
	audio, err := asr.FromFile(path)
	require.NoError(t, err)
	return audio
}

// Drain starts a server that costs as little as possible: it throws every request's body away and gives answer, an HTTP body. It ends with the test.
func Drain(t testing.TB, answer string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go drain(c, answer)
		}
	}()
	return "http://" + l.Addr().String()
}

func drain(c net.Conn, answer string) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 64<<10)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		w := http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(answer)), Body: io.NopCloser(&onlyReader{answer})}
		if w.Write(c) != nil {
			return
		}
	}
}

type onlyReader struct{ s string }

func (r *onlyReader) Read(p []byte) (int, error) {
	if r.s == "" {
		return 0, io.EOF
	}
	n := copy(p, r.s)
	r.s = r.s[n:]
	return n, nil
}

// RequireLittleMemory runs f and fails when it allocates limit bytes or more, all in all: what is held at its peak is less still. The test must not
// run beside others.
func RequireLittleMemory(t testing.TB, limit uint64, f func()) {
	t.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, limit, "bytes allocated")
	t.Logf("%d bytes allocated", after.TotalAlloc-before.TotalAlloc)
}
