package audios3_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audios3"
	"lessonkit.example/feedback/audiotype"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/s3test"
)

// inMemory is the size of the largest upload that is not written to a file.
const inMemory = 2<<20 - audiotype.HeaderSize

// withoutTempDir returns a store that cannot create files.
func withoutTempDir(t *testing.T) *audios3.Store {
	t.Helper()
	server := s3test.Start(t)
	server.Bucket(t, "audio")
	s, err := audios3.New(audios3.Config{
		URL:         s3test.URL(server.Endpoint, "audio"),
		AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey,
		TempDir: filepath.Join(t.TempDir(), "missing"),
	})
	require.NoError(t, err)
	return s
}

func TestSmallUploadsNeedNoFile(t *testing.T) {
	t.Parallel()
	s := withoutTempDir(t)
	samples := make([]byte, inMemory)
	a, err := s.Stage(t.Context(), bytes.NewReader(samples), 1<<30)
	require.NoError(t, err)
	kept, err := a.Keep(t.Context(), &feedback.PCM{SampleRate: 16000, Channels: 1})
	require.NoError(t, err)
	require.Equal(t, append(audiotype.WAVHeader(inMemory, 16000, 1), samples...), readAll(t, s, kept.Key))

	_, err = s.Stage(t.Context(), bytes.NewReader(make([]byte, inMemory+1)), 1<<30)
	require.ErrorIs(t, err, feedback.ErrStorage, "a byte more needs a file")
}

func TestUploadsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	s := withoutTempDir(t)
	stage := func() (feedback.StagedAudio, error) {
		return s.Stage(t.Context(), bytes.NewReader(feedbacktest.MP3("small")), 1<<20)
	}
	var all []feedback.StagedAudio
	for range 4 {
		a, err := stage()
		require.NoError(t, err)
		all = append(all, a)
	}
	_, err := stage()
	require.ErrorIs(t, err, feedback.ErrStorage, "a fifth needs a file")

	_, err = all[0].Keep(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, all[1].Discard())
	for range 10 { // those that fail release their memory too
		_, err = s.Stage(t.Context(), bytes.NewReader(make([]byte, inMemory+1)), 1<<30)
		require.ErrorIs(t, err, feedback.ErrStorage)
		_, err = s.Stage(t.Context(), bytes.NewReader(nil), 1<<20)
		require.ErrorIs(t, err, feedback.ErrAudioEmpty)
		_, err = s.Stage(t.Context(), bytes.NewReader(make([]byte, 11)), 10)
		require.ErrorIs(t, err, feedback.ErrAudioTooLarge)
	}
	for range 2 {
		_, err = stage()
		require.NoError(t, err)
	}
	_, err = stage()
	require.ErrorIs(t, err, feedback.ErrStorage)
}

// Uploads of all sizes at once, so that some start in memory and move to a file, some start in a
// file, and memory is used again.
func TestUploadsOfAllSizesAtOnce(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	server.Bucket(t, "audio")
	s := open(t, server.Endpoint, "audio")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	random := rand.NewChaCha8(key)
	var wait sync.WaitGroup
	for i, size := range []int{1, 100, 256 << 10, inMemory - 1, inMemory, inMemory + 1, 2 << 20, 3 << 20, 5 << 20} {
		for range 2 {
			audio := make([]byte, size)
			random.Read(audio)
			copy(audio, feedbacktest.MP3(""))
			wait.Go(func() {
				a, err := s.Stage(t.Context(), bytes.NewReader(audio), 1<<30)
				if err == nil {
					sum := sha256.Sum256(audio)
					if got := a.Info(); got.Size != int64(size) || got.SHA256 != hex.EncodeToString(sum[:]) {
						err = fmt.Errorf("info %+v", got)
					}
				}
				var kept feedback.KeptAudio
				if err == nil {
					kept, err = a.Keep(t.Context(), &feedback.PCM{SampleRate: 8000, Channels: 1})
				}
				if err != nil {
					t.Errorf("upload %d of %d bytes: %v", i, size, err)
					return
				}
				got := readAll(t, s, kept.Key)
				if !bytes.HasSuffix(got, audio) {
					t.Errorf("upload %d of %d bytes: the object has other content", i, size)
				}
			})
		}
	}
	wait.Wait()
}
