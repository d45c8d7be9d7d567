// Package feedbacktest tests implementations of [feedback.AudioStore]:
//
//	feedbacktest.AudioStore(t, func(t *testing.T) feedback.AudioStore { … })
package feedbacktest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiotype"
)

// AudioStore tests a [feedback.AudioStore]. Function open must return an empty store, which each
// subtest uses for itself. The subtests run in parallel.
func AudioStore(t *testing.T, open func(t *testing.T) feedback.AudioStore) {
	for name, rule := range map[string]func(*testing.T, feedback.AudioStore){
		"audio round trip":                     audioRoundTrip,
		"no more is read than the limit":       audioLimit,
		"content that is not audio is refused": audioRefused,
		"a broken upload leaves nothing":       audioBroken,
		"discarded audio leaves nothing":       audioDiscarded,
		"raw samples get a header":             audioPCM,
		"deleting twice is not an error":       audioDeleted,
		"foreign keys are not found":           audioForeignKeys,
		"only old audio is listed":             audioKeys,
		"many uploads at once do not mix":      audioConcurrent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, open(t))
		})
	}
}

// MP3 returns minimal content that is detected as mp3, ending in a marker.
func MP3(marker string) []byte {
	return append([]byte("\xff\xfb\x90\x64\x00\x00"), marker...)
}

const limit = 1 << 20

func stage(t *testing.T, s feedback.AudioStore, audio []byte) feedback.StagedAudio {
	t.Helper()
	a, err := s.Stage(t.Context(), bytes.NewReader(audio), limit)
	require.NoError(t, err)
	return a
}

func keep(t *testing.T, s feedback.AudioStore, audio []byte) feedback.KeptAudio {
	t.Helper()
	kept, err := stage(t, s, audio).Keep(t.Context(), nil)
	require.NoError(t, err)
	return kept
}

func read(t *testing.T, s feedback.AudioStore, key string) []byte {
	t.Helper()
	f, err := s.Open(t.Context(), key)
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	require.EqualValues(t, len(b), f.Size())
	return b
}

// keys lists the audio last written before a time.
func keys(t *testing.T, s feedback.AudioStore, before time.Time) (out []string) {
	t.Helper()
	for key, err := range s.Keys(t.Context(), before) {
		require.NoError(t, err)
		out = append(out, key)
	}
	return out
}

func later() time.Time { return time.Now().Add(time.Hour) }

func audioRoundTrip(t *testing.T, s feedback.AudioStore) {
	audio := append([]byte("ID3\x04\x00\x00\x00\x00\x00\x23TSSE"), strings.Repeat("la", 300_000)...)
	a, err := s.Stage(t.Context(), iotest.HalfReader(bytes.NewReader(audio)), limit)
	require.NoError(t, err)
	sum := sha256.Sum256(audio)
	require.Equal(t, feedback.AudioInfo{Size: int64(len(audio)), SHA256: hex.EncodeToString(sum[:])}, a.Info())
	require.Empty(t, keys(t, s, time.Now().Add(-time.Hour)), "not kept yet")
	kept, err := a.Keep(t.Context(), &feedback.PCM{SampleRate: 16000, Channels: 1}) // the content has a type
	require.NoError(t, err)
	require.NoError(t, a.Discard(), "too late to discard")
	require.Equal(t, "audio/mpeg", kept.ContentType)
	require.Equal(t, audio, read(t, s, kept.Key))
	require.NotEqual(t, kept.Key, keep(t, s, audio).Key, "every upload has its own key")

	f, err := s.Open(t.Context(), kept.Key)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Seek(-2, io.SeekEnd)
	require.NoError(t, err)
	end, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "la", string(end))
}

// endless is a reader without an end that counts bytes.
type endless struct{ read int64 }

func (r *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0xff
	}
	r.read += int64(len(p))
	return len(p), nil
}

func audioLimit(t *testing.T, s feedback.AudioStore) {
	audio := MP3("12345")
	a, err := s.Stage(t.Context(), bytes.NewReader(audio), int64(len(audio)))
	require.NoError(t, err)
	require.NoError(t, a.Discard())
	_, err = s.Stage(t.Context(), bytes.NewReader(audio), int64(len(audio))-1)
	require.ErrorIs(t, err, feedback.ErrAudioTooLarge)
	var r endless
	_, err = s.Stage(t.Context(), &r, 300_000)
	require.ErrorIs(t, err, feedback.ErrAudioTooLarge)
	require.LessOrEqual(t, r.read, int64(300_001))
	_, err = s.Stage(t.Context(), strings.NewReader(""), limit)
	require.ErrorIs(t, err, feedback.ErrAudioEmpty)
	require.Empty(t, keys(t, s, later()))
}

func audioRefused(t *testing.T, s feedback.AudioStore) {
	refused := func(content string, pcm *feedback.PCM) {
		a := stage(t, s, []byte(content))
		_, err := a.Keep(t.Context(), pcm)
		require.ErrorIs(t, err, feedback.ErrAudioType, "%.10q", content)
		require.NoError(t, a.Discard())
	}
	refused("<html><script>alert(1)</script>", nil)
	refused(strings.Repeat("\x00", 5000), nil)
	refused("\x02#!SILK_V3\x14\x00", &feedback.PCM{SampleRate: 16000, Channels: 1}) // a messenger's format
	require.Empty(t, keys(t, s, later()))
}

func audioBroken(t *testing.T, s feedback.AudioStore) {
	cut := errors.New("connection reset")
	r := io.MultiReader(bytes.NewReader(MP3(strings.Repeat("x", 200_000))), iotest.ErrReader(cut))
	_, err := s.Stage(t.Context(), r, limit)
	require.ErrorIs(t, err, feedback.ErrUpload)
	require.ErrorIs(t, err, cut)
	require.Empty(t, keys(t, s, later()))
}

func audioDiscarded(t *testing.T, s feedback.AudioStore) {
	a := stage(t, s, MP3("x"))
	require.NoError(t, a.Discard())
	require.NoError(t, a.Discard())
	_, err := a.Keep(t.Context(), nil)
	require.Error(t, err)
	require.Empty(t, keys(t, s, later()))
}

func audioPCM(t *testing.T, s feedback.AudioStore) {
	samples := append([]byte("\xff\xfb\x90\x64"), bytes.Repeat([]byte{0, 0, 1, 0}, 3999)...) // as an mp3 frame
	a := stage(t, s, samples)
	kept, err := a.Keep(t.Context(), &feedback.PCM{SampleRate: 16000, Channels: 2})
	require.NoError(t, err)
	require.Equal(t, "audio/wav", kept.ContentType)
	require.EqualValues(t, len(samples), a.Info().Size, "as sent")
	wav := read(t, s, kept.Key)
	require.Equal(t, audiotype.WAVHeader(int64(len(samples)), 16000, 2), wav[:audiotype.HeaderSize])
	require.Equal(t, samples, wav[audiotype.HeaderSize:])
	require.Len(t, keys(t, s, later()), 1)
}

func audioDeleted(t *testing.T, s feedback.AudioStore) {
	kept := keep(t, s, MP3("x"))
	require.NoError(t, s.Delete(t.Context(), kept.Key))
	require.NoError(t, s.Delete(t.Context(), kept.Key))
	_, err := s.Open(t.Context(), kept.Key)
	require.ErrorIs(t, err, feedback.ErrNotFound)
}

func audioForeignKeys(t *testing.T, s feedback.AudioStore) {
	kept := keep(t, s, MP3("x"))
	for _, key := range []string{"", ".", "..", "/etc/passwd", "../../etc/passwd", "a\x00b", kept.Key + "/..",
		"../" + kept.Key, strings.ToUpper(kept.Key)} {
		_, err := s.Open(t.Context(), key)
		require.ErrorIs(t, err, feedback.ErrNotFound, "%q", key)
		require.NoError(t, s.Delete(t.Context(), key), "%q", key)
	}
	require.Equal(t, MP3("x"), read(t, s, kept.Key))
}

func audioKeys(t *testing.T, s feedback.AudioStore) {
	kept := []string{keep(t, s, MP3("a")).Key, keep(t, s, MP3("b")).Key}
	staged := stage(t, s, MP3("an upload in progress"))
	require.Empty(t, keys(t, s, time.Now().Add(-time.Hour)))
	require.ElementsMatch(t, kept, keys(t, s, later()))
	require.NoError(t, staged.Discard())
	for range s.Keys(t.Context(), later()) {
		break // a caller may stop early
	}
}

func audioConcurrent(t *testing.T, s feedback.AudioStore) {
	kept := make([]feedback.KeptAudio, 16)
	var g errgroup.Group
	audio := func(i int) []byte { return MP3(strings.Repeat(string(rune('a'+i)), 200_000)) }
	for i := range kept {
		g.Go(func() error {
			a, err := s.Stage(t.Context(), iotest.HalfReader(bytes.NewReader(audio(i))), limit)
			if err == nil {
				kept[i], err = a.Keep(t.Context(), nil)
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
	for i, k := range kept {
		require.Equal(t, audio(i), read(t, s, k.Key))
	}
}
