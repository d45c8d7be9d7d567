package source_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/internal/source"
)

// stuck is a recording that cannot be read from its start again.
type stuck struct {
	io.Reader
	err    error
	closed int
}

func (s *stuck) Seek(int64, int) (int64, error) { return 0, s.err }

func (s *stuck) Close() error { s.closed++; return nil }

func TestARecordingThatCannotBeRewoundIsClosed(t *testing.T) {
	t.Parallel()
	wav := asrtest.WAV(time.Second)
	rc := &stuck{Reader: bytes.NewReader(wav), err: errors.New("disk gone")}
	a := asr.FromBytes("lesson.wav", wav)
	a.Open = func() (io.ReadCloser, error) { return rc, nil }
	_, err := source.Open("test", a)
	require.ErrorIs(t, err, rc.err)
	require.Equal(t, 1, rc.closed)
}

func TestDurationBelievesTheBytesBeforeTheDeclaration(t *testing.T) {
	t.Parallel()
	samples, wav := asr.FromBytes("raw", asrtest.Samples(2*time.Second)), asr.FromBytes("lesson.wav", asrtest.WAV(2*time.Second))
	require.Zero(t, source.Duration(samples))
	samples.ContentType, wav.ContentType = "audio/pcm;rate=16000", "audio/pcm;rate=8000"
	require.Equal(t, 2*time.Second, source.Duration(samples))
	require.Equal(t, 2*time.Second, source.Duration(wav))

	open := samples.Open
	samples.Open = func() (io.ReadCloser, error) { // which cannot be read at random
		rc, err := open()
		return struct{ io.ReadCloser }{rc}, err
	}
	require.Equal(t, 2*time.Second, source.Duration(samples), "the size tells")
}
