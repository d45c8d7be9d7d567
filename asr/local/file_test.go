package local_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// Package tempdir tests how the living are told from the dead, examples/speech-server a process
// that is killed.
func TestNewDeletesWhatADeadProcessHasLeft(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the directories of living processes cannot be told from those of dead ones")
	}
	t.Setenv("TMPDIR", t.TempDir())
	left := filepath.Join(os.TempDir(), "lessonkit-asr-local-1")
	require.NoError(t, os.Mkdir(left, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, "lock"), nil, 0o600))
	connect(t, local.Config{URL: "http://host", FFmpeg: os.Args[0]})
	require.NoDirExists(t, left)
}

func TestFileThatChangesAfterFromFile(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.OpenAI)
	rec := connect(t, local.Config{URL: s.URL})
	data := asrtest.WAV(5 * time.Second)
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	audio, err := asr.FromFile(path)
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(path, append(data, data...), 0o600))
	got, err := rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, asrtest.Heard(data), got.Text, "only the announced size is sent")

	require.NoError(t, os.Truncate(path, 100_000))
	_, err = rec.Recognize(t.Context(), audio)
	require.ErrorContains(t, err, "before its announced size")
	e, ok := errors.AsType[*asr.Error](err)
	require.True(t, ok)
	require.Zero(t, e.RetryAfter(), "it is not the fault of the recogniser")
	require.NoError(t, e.Class)

	require.NoError(t, os.Remove(path))
	_, err = rec.Recognize(t.Context(), audio)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The server rejects a recording without reading it: the answer must be returned, not the broken
// write.
func TestAnswerOfAServerThatClosesEarlyIsReturned(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096)) // the head of the request
			_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\n"+
				"Content-Length: 17\r\nConnection: close\r\n\r\n{\"error\":\"15 MB\"}")
			c.Close() // with the recording unread: the other side's writes break
		}
	}()
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, asrtest.WAV(0), 0o600))
	require.NoError(t, os.Truncate(path, 50<<20))
	audio, err := asr.FromFile(path)
	require.NoError(t, err)
	rec := connect(t, local.Config{URL: "http://" + l.Addr().String() + "/v1/audio/transcriptions?model=m"})
	for range 20 {
		_, err := rec.Recognize(t.Context(), audio)
		require.ErrorIs(t, err, asr.ErrUnusableAudio)
		e, _ := errors.AsType[*asr.Error](err)
		require.Equal(t, 413, e.Status)
	}
}
