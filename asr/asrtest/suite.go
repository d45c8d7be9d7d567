package asrtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
)

// Target is a recogniser to test.
type Target struct {
	// New returns a recogniser that works.
	New func(t testing.TB) asr.Recognizer
	// Audio is a recording, and Text its text.
	Audio []byte
	Text  string
	// TextOf returns the text of other recordings. If nil, only the text of Audio is compared.
	TextOf func(audio []byte) string
	// AcceptsDamaged means that the recogniser returns an empty text for audio that it cannot
	// decode. DamagedCounts means that it cannot distinguish damaged audio from its own failures,
	// so that attempts are counted. Otherwise the error must be asr.ErrUnusableAudio.
	AcceptsDamaged, DamagedCounts bool
	// Secrets must not be contained in errors or in the status.
	Secrets []string
}

// Run tests what asr.Recognizer and the types that it uses document, and nothing else.
func Run(t *testing.T, target Target) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, target Target)
	}{
		{"recognises the whole recording", testWhole},
		{"opens the recording for each call and closes it", testCloses},
		{"serves concurrent calls", testConcurrent},
		{"accepts raw samples with a declared type", testPCM},
		{"rejects what is not audio", testNotAudio},
		{"rejects damaged audio", testDamaged},
		{"rejects a recording shorter than its size", testShort},
		{"returns the error of opening", testOpenFails},
		{"returns the error of reading", testReadFails},
		{"returns when the context is already canceled", testCanceledBefore},
		{"returns when the context is canceled while reading", testCanceledDuring},
		{"returns the status without a request", testStatus},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, target) })
	}
}

func (target Target) check(t *testing.T, err error) *asr.Error {
	t.Helper()
	require.Error(t, err)
	for _, secret := range target.Secrets {
		require.NotContains(t, err.Error(), secret)
	}
	e, ok := errors.AsType[*asr.Error](err)
	require.True(t, ok, "%T is not an *asr.Error: %v", err, err)
	require.NotEmpty(t, e.PublicText())
	return e
}

func testWhole(t *testing.T, target Target) {
	t.Parallel()
	rec := target.New(t)
	got, err := rec.Recognize(t.Context(), asr.FromBytes("lesson.wav", target.Audio))
	require.NoError(t, err)
	require.Equal(t, target.Text, got.Text)
	if info, err := audiofile.Inspect(bytes.NewReader(target.Audio), int64(len(target.Audio))); err == nil &&
		got.Duration != 0 {
		require.InDelta(t, info.Duration.Seconds(), got.Duration.Seconds(), 1, "the duration, or 0 if it is unknown")
	}
	for i, s := range got.Segments {
		require.LessOrEqual(t, s.Start, s.End)
		if i > 0 {
			require.GreaterOrEqual(t, s.Start, got.Segments[i-1].Start)
		}
	}
	if len(got.Segments) > 0 {
		require.Equal(t, got.Text, asr.JoinSegments(got.Segments), "the segments are the parts of the text")
	}
	s := rec.Status(t.Context())
	require.True(t, s.Available, s.Reason)
	require.NotEmpty(t, s.Provider)
	require.False(t, s.CheckedAt.IsZero(), "Status.CheckedAt is zero after a recording was recognised")
	require.Equal(t, s.CheckedAt.UTC(), s.CheckedAt)
}

func testCloses(t *testing.T, target Target) {
	t.Parallel()
	rec := target.New(t)
	var opened, open atomic.Int64
	audio := asr.FromBytes("lesson.wav", target.Audio)
	audio.Open = func() (io.ReadCloser, error) {
		opened.Add(1)
		open.Add(1)
		closed := sync.OnceFunc(func() { open.Add(-1) })
		return &reader{Reader: bytes.NewReader(target.Audio), close: closed}, nil
	}
	for range 2 {
		before := opened.Load()
		got, err := rec.Recognize(t.Context(), audio)
		require.NoError(t, err)
		require.Equal(t, target.Text, got.Text)
		require.Greater(t, opened.Load(), before)
		require.Zero(t, open.Load(), "every reader is closed")
	}
}

func testConcurrent(t *testing.T, target Target) {
	t.Parallel()
	rec := target.New(t)
	var wg sync.WaitGroup
	texts, errs := make([]string, 4), make([]error, 4)
	for i := range texts {
		wg.Go(func() {
			got, err := rec.Recognize(t.Context(), asr.FromBytes("lesson.wav", target.Audio))
			texts[i], errs[i] = got.Text, err
		})
	}
	wg.Wait()
	for i := range texts {
		require.NoError(t, errs[i])
		require.Equal(t, target.Text, texts[i])
	}
}

func testPCM(t *testing.T, target Target) {
	t.Parallel()
	rec := target.New(t)
	samples := Samples(time.Second)
	audio := asr.FromBytes("raw", samples)
	audio.ContentType = "audio/pcm;rate=16000;channels=1"
	got, err := rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	if target.TextOf != nil {
		require.Equal(t, target.TextOf(WAV(time.Second)), got.Text, "the samples are sent with a WAV header")
	}
	audio.ContentType = "audio/pcm"
	_, err = rec.Recognize(t.Context(), audio)
	target.check(t, err)
	require.ErrorIs(t, err, asr.ErrUnusableAudio, "without a rate")
}

func testNotAudio(t *testing.T, target Target) {
	t.Parallel()
	rec := target.New(t)
	for name, data := range map[string]string{
		"empty": "", "text": "dear diary", "page": "<!DOCTYPE html><html></html>",
	} {
		_, err := rec.Recognize(t.Context(), asr.FromBytes(name, []byte(data)))
		e := target.check(t, err)
		require.ErrorIs(t, err, asr.ErrUnusableAudio, name)
		require.True(t, e.Permanent())
	}
}

func testDamaged(t *testing.T, target Target) {
	t.Parallel()
	got, err := target.New(t).Recognize(t.Context(), asr.FromBytes("damaged.wav", Damaged()))
	if target.AcceptsDamaged {
		require.NoError(t, err)
		require.Empty(t, got.Text)
		return
	}
	e := target.check(t, err)
	require.Zero(t, e.RetryAfter(), "retries of damaged audio must count as attempts: %v", err)
	require.Equal(t, !target.DamagedCounts, e.Permanent())
	require.Equal(t, !target.DamagedCounts, errors.Is(err, asr.ErrUnusableAudio))
}

func testShort(t *testing.T, target Target) {
	t.Parallel()
	audio := asr.FromBytes("lesson.wav", target.Audio)
	audio.Size += 5000
	_, err := target.New(t).Recognize(t.Context(), audio)
	require.NoError(t, target.check(t, err).Class, "it is not the fault of the recogniser: %v", err)
}

func testOpenFails(t *testing.T, target Target) {
	t.Parallel()
	broken := errors.New("disk gone")
	audio := asr.FromBytes("lesson.wav", target.Audio)
	audio.Open = func() (io.ReadCloser, error) { return nil, broken }
	_, err := target.New(t).Recognize(t.Context(), audio)
	e := target.check(t, err)
	require.ErrorIs(t, err, broken)
	require.NoError(t, e.Class, "it is not the fault of the recogniser")
}

// reader can only be read from start to end. It calls end, if that is not nil, in place of
// returning io.EOF, and close when it is closed.
type reader struct {
	io.Reader
	end   func() error
	close func()
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF && r.end != nil {
		err = r.end()
	}
	return n, err
}

func (r *reader) Close() error {
	r.close()
	return nil
}

// ending returns a recording longer than data, the readers of which call end after data.
func ending(data []byte, end func() error) asr.Audio {
	audio := asr.FromBytes("lesson.wav", data)
	audio.Size += 10000
	audio.Open = func() (io.ReadCloser, error) {
		return &reader{Reader: bytes.NewReader(data), end: end, close: func() {}}, nil
	}
	return audio
}

func testReadFails(t *testing.T, target Target) {
	t.Parallel()
	broken := errors.New("bad sector")
	audio := ending(target.Audio, func() error { return broken })
	_, err := target.New(t).Recognize(t.Context(), audio)
	e := target.check(t, err)
	require.ErrorIs(t, err, broken)
	require.NoError(t, e.Class, "it is not the fault of the recogniser")
}

func testCanceledBefore(t *testing.T, target Target) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := target.New(t).Recognize(ctx, asr.FromBytes("lesson.wav", target.Audio))
	requireCanceled(t, err)
}

func testCanceledDuring(t *testing.T, target Target) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	audio := ending(target.Audio, func() error {
		cancel()
		return context.Canceled
	})
	_, err := target.New(t).Recognize(ctx, audio)
	requireCanceled(t, err)
}

func requireCanceled(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, context.Canceled)
	var permanent interface{ Permanent() bool }
	require.False(t, errors.As(err, &permanent) && permanent.Permanent(), "a cancellation is not permanent")
	_, ok := errors.AsType[*asr.Error](err)
	require.False(t, ok, "a cancellation is not a failure of the recogniser")
}

func testStatus(t *testing.T, target Target) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := target.New(t)
	s := rec.Status(ctx) // makes no request, so the canceled context does not matter
	require.NotEmpty(t, s.Provider)
	for _, secret := range target.Secrets {
		require.NotContains(t, s.Reason, secret)
		require.NotContains(t, s.Model, secret)
	}
}
