package copyaudio_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/copyaudio"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/s3test"
)

// storage is a store and the directory in which its recordings are files.
type storage struct {
	copyaudio.Store
	files, address string
}

func open(t *testing.T, address string) copyaudio.Store {
	t.Helper()
	s, err := server.OpenAudio(server.Config{AWSAccessKeyID: s3test.AccessKeyID,
		AWSSecretAccessKey: s3test.SecretAccessKey, AudioReserve: -1}, address)
	require.NoError(t, err)
	return s
}

// directions runs a test from a directory into a bucket and back.
func directions(t *testing.T, test func(t *testing.T, from, to storage)) {
	stores := func(t *testing.T) (directory, bucket storage) {
		dir := t.TempDir()
		s3 := s3test.Start(t)
		files, url := s3.Bucket(t, "audio"), s3test.URL(s3.Endpoint, "audio")
		return storage{open(t, dir), dir, dir}, storage{open(t, url), files, url}
	}
	t.Run("into a bucket", func(t *testing.T) {
		t.Parallel()
		directory, bucket := stores(t)
		test(t, directory, bucket)
	})
	t.Run("into a directory", func(t *testing.T) {
		t.Parallel()
		directory, bucket := stores(t)
		test(t, bucket, directory)
	})
}

// fill adds n recordings to a store and returns them by key.
func fill(t *testing.T, s storage, n int) map[string][]byte {
	t.Helper()
	recordings := map[string][]byte{}
	for i := range n {
		audio := feedbacktest.MP3(strings.Repeat(fmt.Sprint("recording ", i), 20_000))
		id := uuid.NewString()
		key := fmt.Sprintf("%02x/%s.mp3", i, id)
		_, err := s.Put(t.Context(), key, bytes.NewReader(audio))
		require.NoError(t, err)
		recordings[key] = audio
	}
	return recordings
}

func requireHas(t *testing.T, s storage, recordings map[string][]byte) {
	t.Helper()
	n := 0
	for key, err := range s.All(t.Context()) {
		require.NoError(t, err)
		kept, err := os.ReadFile(filepath.Join(s.files, key))
		require.NoError(t, err)
		require.True(t, bytes.Equal(recordings[key], kept), key)
		n++
	}
	require.Len(t, recordings, n)
}

func run(t *testing.T, from, to copyaudio.Store, o copyaudio.Options) copyaudio.Result {
	t.Helper()
	result, err := copyaudio.Run(t.Context(), from, to, o)
	require.NoError(t, err)
	return result
}

func TestAllRecordingsAreCopiedOnce(t *testing.T) {
	t.Parallel()
	directions(t, func(t *testing.T, from, to storage) {
		recordings := fill(t, from, 20)
		require.Equal(t, 20, run(t, from, to, copyaudio.Options{}).Copied)
		requireHas(t, to, recordings)
		sent := &counted{Store: to}
		require.Equal(t, copyaudio.Result{Present: 20}, run(t, from, sent, copyaudio.Options{}))
		require.Equal(t, copyaudio.Result{Present: 20}, run(t, from, sent, copyaudio.Options{BySize: true}))
		require.Zero(t, sent.puts.Load())
		requireHas(t, from, recordings)
	})
}

// counted counts what is written.
type counted struct {
	copyaudio.Store
	puts atomic.Int64
}

func (s *counted) Put(ctx context.Context, key string, r io.Reader) (feedback.AudioInfo, error) {
	s.puts.Add(1)
	return s.Store.Put(ctx, key, r)
}

func TestDamageIsReportedAndNotRepaired(t *testing.T) {
	t.Parallel()
	directions(t, func(t *testing.T, from, to storage) {
		recordings := fill(t, from, 4)
		run(t, from, to, copyaudio.Options{})
		var keys []string
		for key := range recordings {
			keys = append(keys, key)
		}
		flipped := bytes.Clone(recordings[keys[0]])
		flipped[1000] ^= 1
		require.NoError(t, os.WriteFile(filepath.Join(to.files, keys[0]), flipped, 0o600))
		short := recordings[keys[1]][:1000]
		require.NoError(t, os.WriteFile(filepath.Join(to.files, keys[1]), short, 0o600))

		result, err := copyaudio.Run(t.Context(), from, to, copyaudio.Options{})
		require.Equal(t, copyaudio.Result{Present: 2, Failed: 2}, result)
		require.ErrorContains(t, err, "2 recordings were not copied, or differ")
		require.ErrorContains(t, err, keys[0]+": has another content in the destination")
		require.ErrorContains(t, err, keys[1]+": has "+strconv.Itoa(len(recordings[keys[1]]))+" bytes in the source")
		result, err = copyaudio.Run(t.Context(), from, to, copyaudio.Options{BySize: true})
		require.Error(t, err)
		require.Equal(t, copyaudio.Result{Present: 3, Failed: 1}, result)
		requireHas(t, from, recordings)
		for key, content := range map[string][]byte{keys[0]: flipped, keys[1]: short} {
			kept, err := os.ReadFile(filepath.Join(to.files, key))
			require.NoError(t, err)
			require.Equal(t, content, kept, "which of the two is damaged is for a person to tell")
		}
	})
}

// damaging stores something else than it is given.
type damaging struct {
	copyaudio.Store
	files string
}

func (s damaging) Put(ctx context.Context, key string, r io.Reader) (feedback.AudioInfo, error) {
	info, err := s.Store.Put(ctx, key, r)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.files, key), make([]byte, info.Size), 0o600)
	}
	return info, err
}

func TestACopyIsReadAgain(t *testing.T) {
	t.Parallel()
	directions(t, func(t *testing.T, from, to storage) {
		recordings := fill(t, from, 2)
		result, err := copyaudio.Run(t.Context(), from, damaging{to, to.files}, copyaudio.Options{})
		require.ErrorContains(t, err, "the copy differed and was deleted")
		require.Equal(t, copyaudio.Result{Failed: 2}, result)
		requireHas(t, to, nil)
		require.Equal(t, 2, run(t, from, to, copyaudio.Options{}).Copied)
		requireHas(t, to, recordings)
	})
}

// keeping damages recordings and deletes none.
type keeping struct{ damaging }

func (keeping) Delete(context.Context, string) error { return os.ErrPermission }

func TestADamagedCopyThatStaysIsNamed(t *testing.T) {
	t.Parallel()
	directions(t, func(t *testing.T, from, to storage) {
		fill(t, from, 1)
		_, err := copyaudio.Run(t.Context(), from, keeping{damaging{to, to.files}}, copyaudio.Options{})
		require.ErrorIs(t, err, os.ErrPermission)
		require.ErrorContains(t, err, "the copy differs and was not deleted")
		require.NotContains(t, err.Error(), "was deleted")
	})
}

// hanging is a source whose recordings, but for the first five, end in the middle and hang.
type hanging struct {
	copyaudio.Store
	opened atomic.Int64
}

func (s *hanging) Open(ctx context.Context, key string) (feedback.AudioFile, error) {
	f, err := s.Store.Open(ctx, key)
	if err == nil && s.opened.Add(1) > 5 {
		return hangingFile{f, io.LimitReader(f, f.Size()/2)}, nil
	}
	return f, err
}

type hangingFile struct {
	feedback.AudioFile
	r io.Reader
}

func (f hangingFile) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		select {}
	}
	return n, err
}

// TestAKilledRunContinues kills a process in the middle of its run.
func TestAKilledRunContinues(t *testing.T) {
	t.Parallel()
	if from := os.Getenv("COPYAUDIO_TEST_FROM"); from != "" {
		_, err := copyaudio.Run(t.Context(), &hanging{Store: open(t, from)}, open(t, os.Getenv("COPYAUDIO_TEST_TO")),
			copyaudio.Options{})
		t.Fatal("has not been killed", err)
	}
	directions(t, func(t *testing.T, from, to storage) {
		recordings := fill(t, from, 12)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledRunContinues$")
		cmd.Env = append(os.Environ(), "COPYAUDIO_TEST_FROM="+from.address, "COPYAUDIO_TEST_TO="+to.address)
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		require.NoError(t, cmd.Start())
		arrived := func() (n int) {
			for _, err := range to.All(t.Context()) {
				require.NoError(t, err)
				n++
			}
			return n
		}
		require.Eventually(t, func() bool { return arrived() == 5 }, time.Minute, 20*time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		require.NotContains(t, output.String(), "has not been killed")

		result := run(t, from, to, copyaudio.Options{})
		require.Equal(t, []int{7, 5}, []int{result.Copied, result.Present})
		requireHas(t, to, recordings)
	})
}

// broken is a source with a recording that cannot be opened and one that cannot be read to its end.
type broken struct {
	copyaudio.Store
	closed, cut, deleted string
}

func (s broken) Open(ctx context.Context, key string) (feedback.AudioFile, error) {
	switch key {
	case s.closed:
		return nil, os.ErrPermission
	case s.deleted:
		return nil, feedback.NotFound("recording")
	}
	f, err := s.Store.Open(ctx, key)
	if err == nil && key == s.cut {
		return cutFile{f, io.MultiReader(io.LimitReader(f, 1000), failing{})}, nil
	}
	return f, err
}

type cutFile struct {
	feedback.AudioFile
	r io.Reader
}

func (f cutFile) Read(p []byte) (int, error) { return f.r.Read(p) }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestAnUnreadableSourceIsNamedAtTheEnd(t *testing.T) {
	t.Parallel()
	directions(t, func(t *testing.T, from, to storage) {
		recordings := fill(t, from, 10)
		var keys []string
		for key := range recordings {
			keys = append(keys, key)
		}
		source := broken{from, keys[0], keys[1], keys[2]}
		result, err := copyaudio.Run(t.Context(), source, to, copyaudio.Options{})
		require.ErrorContains(t, err, keys[0]+": open the source: permission denied")
		require.ErrorContains(t, err, keys[1]+": read the source: ")
		require.NotContains(t, err.Error(), keys[2], "deleted since it was listed, as a service in use does")
		require.Equal(t, []int{7, 2}, []int{result.Copied, result.Failed})
		requireHas(t, from, recordings)
		for _, key := range keys[:3] {
			delete(recordings, key)
		}
		requireHas(t, to, recordings)
	})
}

// many is a source of recordings that cannot be opened.
type many struct{ copyaudio.Store }

func (many) All(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for yield("00/"+uuid.NewString()+".mp3", nil) {
		}
	}
}

func (many) Open(context.Context, string) (feedback.AudioFile, error) { return nil, io.ErrNoProgress }

func TestASourceThatFailsIsGivenUp(t *testing.T) {
	t.Parallel()
	result, err := copyaudio.Run(t.Context(), many{}, open(t, t.TempDir()), copyaudio.Options{})
	require.ErrorContains(t, err, "gave up")
	require.Equal(t, 100, result.Failed)
	require.Equal(t, 100, strings.Count(err.Error(), "open the source"))
}

func TestADestinationThatFailsEndsTheRun(t *testing.T) {
	t.Parallel()
	s3 := s3test.Start(t)
	dir := t.TempDir()
	from := storage{open(t, dir), dir, dir}
	fill(t, from, 20)
	result, err := copyaudio.Run(t.Context(), from, open(t, s3test.URL(s3.Endpoint, "missing")), copyaudio.Options{})
	require.ErrorIs(t, err, feedback.ErrStorage)
	require.Zero(t, result)
	require.NotContains(t, err.Error(), s3test.SecretAccessKey)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = copyaudio.Run(ctx, from, open(t, t.TempDir()), copyaudio.Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "run it again to continue")
}

// slow takes 12 seconds to list nothing.
type slow struct{ copyaudio.Store }

func (slow) All(context.Context) iter.Seq2[string, error] {
	return func(func(string, error) bool) { time.Sleep(12 * time.Second) }
}

func TestProgressIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reported []copyaudio.Result
		_, err := copyaudio.Run(t.Context(), slow{}, nil, copyaudio.Options{
			Progress: func(r copyaudio.Result) { reported = append(reported, r) },
		})
		require.NoError(t, err)
		require.Len(t, reported, 2, "every 5 seconds")
		require.Equal(t, "0 copied (0.0 MB), 0 already there, 0 failed", reported[0].String())
	})
}
