package asrtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
)

// Target is a recogniser under test.
type Target struct {
	// New makes a recogniser that works.
	New func(t testing.TB) asr.Recognizer
	// Audio is a recording, and Text what the recogniser hears in it.
	Audio []byte
	Text  string
	// TextOf gives what it hears in other recordings. If nil, only Audio's text is compared.
	TextOf func(audio []byte) string
	// HearsDamaged marks a recogniser that gives an empty text for what it cannot decode. DamagedCounts marks one that cannot tell damaged audio
	// from a failure of its own, so that attempts are counted. The others must say asr.ErrUnusableAudio.
	HearsDamaged, DamagedCounts bool
	// Secrets must be in no error and no status.
	Secrets []string
}

// Run checks what every Recognizer promises.
func Run(t *testing.T, target Target) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, target Target)
	}{
		{"hears the whole recording", testHears},
		{"opens the recording again for each call and closes it", testCloses},
		{"serves several callers at once", testConcurrent},
		{"takes raw samples that are declared", testPCM},
		{"refuses what is no audio", testNoAudio},
		{"refuses damaged audio", testDamaged},
		{"tells a recording that is shorter than announced", testShort},
		{"passes on the error of opening", testOpenFails},
		{"passes on the error of reading", testReadFails},
		{"stops when the caller has gone before", testCancelledBefore},
		{"stops when the caller goes in between", testCancelledDuring},
		{"answers Status from memory", testStatus},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, target) })
	}
}

// counted is audio that counts its readers.
type counted struct {
	mu           sync.Mutex
	opened, open int
}

func (c *counted) audio(data []byte) asr.Audio {
	a := asr.FromBytes("lesson.wav", data)
	a.Open = func() (io.ReadCloser, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.opened++
		c.open++
		return &countedReader{Reader: bytes.NewReader(data), c: c}, nil
	}
	return a
}

type countedReader struct {
	io.Reader // neither Seeker nor ReaderAt
	c         *counted
	once      sync.Once
}

func (r *countedReader) Close() error {
	r.once.Do(func() {
		r.c.mu.Lock()
		defer r.c.mu.Unlock()
		r.c.open--
	})
	return nil
}

func (target Target) check(t *testing.T, err error) *asr.Error {
	t.Helper()
	require.Error(t, err)
	for _, secret := range target.Secrets {
		require.NotContains(t, err.Error(), secret)
	}
	e, ok := errors.AsType[*asr.Error](err)
	require.True(t, ok, "%T is no *asr.Error: %v", err, err)
	require.NotEmpty(t, e.PublicText())
	require.False(t, e.Permanent() && e.RetryAfter() > 0, "an error is permanent or worth trying again, not both")
	return e
}

func testHears(t *testing.T, target Target) {
	t.Parallel()
	rec := target.New(t)
	got, err := rec.Recognize(t.Context(), asr.FromBytes("lesson.wav", target.Audio))
	require.NoError(t, err)
	require.Equal(t, target.Text, got.Text)
	require.Positive(t, got.Duration)
	var texts []string
	for i, s := range got.Segments {
		require.LessOrEqual(t, s.Start, s.End)
		if i > 0 {
			require.GreaterOrEqual(t, s.Start, got.Segments[i-1].Start)
		}
		texts = append(texts, s.Text)
	}
	if len(texts) > 0 {
		require.Equal(t, got.Text, asr.JoinText(texts...), "the segments are the parts of the text")
	}
	s := rec.Status(t.Context())
	require.True(t, s.Available, s.Reason)
	require.NotEmpty(t, s.Provider)
	require.False(t, s.CheckedAt.IsZero())
	require.Equal(t, s.CheckedAt.UTC(), s.CheckedAt)
}

func testCloses(t *testing.T, target Target) {
	t.Parallel()
	rec := target.New(t)
	var c counted
	for range 2 {
		before := c.opened
		got, err := rec.Recognize(t.Context(), c.audio(target.Audio))
		require.NoError(t, err)
		require.Equal(t, target.Text, got.Text)
		require.Greater(t, c.opened, before)
		require.Zero(t, c.open, "every reader is closed")
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
		require.Equal(t, target.TextOf(WAV(time.Second)), got.Text, "a WAV header is put in front")
	}
	audio.ContentType = "audio/pcm"
	_, err = rec.Recognize(t.Context(), audio)
	require.ErrorIs(t, err, asr.ErrUnusableAudio)
	require.ErrorContains(t, err, "rate")
}

func testNoAudio(t *testing.T, target Target) {
	t.Parallel()
	rec := target.New(t)
	for name, data := range map[string]string{"empty": "", "text": "dear diary", "page": "<!DOCTYPE html><html></html>"} {
		_, err := rec.Recognize(t.Context(), asr.FromBytes(name, []byte(data)))
		e := target.check(t, err)
		require.ErrorIs(t, err, asr.ErrUnusableAudio, name)
		require.True(t, e.Permanent())
	}
}

func testDamaged(t *testing.T, target Target) {
	t.Parallel()
	got, err := target.New(t).Recognize(t.Context(), asr.FromBytes("damaged.wav", Damaged()))
	if target.HearsDamaged {
		require.NoError(t, err)
		require.Empty(t, got.Text)
		return
	}
	e := target.check(t, err)
	require.Zero(t, e.RetryAfter(), "damaged audio must not be tried for ever: %v", err)
	require.Equal(t, !target.DamagedCounts, e.Permanent())
	require.Equal(t, !target.DamagedCounts, errors.Is(err, asr.ErrUnusableAudio))
}

func testShort(t *testing.T, target Target) {
	t.Parallel()
	audio := asr.FromBytes("lesson.wav", target.Audio)
	audio.Size += 5000
	_, err := target.New(t).Recognize(t.Context(), audio)
	e := target.check(t, err)
	require.Zero(t, e.RetryAfter(), "%v", err)
}

func testOpenFails(t *testing.T, target Target) {
	t.Parallel()
	broken := errors.New("disk gone")
	audio := asr.FromBytes("lesson.wav", target.Audio)
	audio.Open = func() (io.ReadCloser, error) { return nil, broken }
	_, err := target.New(t).Recognize(t.Context(), audio)
	e := target.check(t, err)
	require.ErrorIs(t, err, broken)
	require.False(t, e.Permanent())
	require.Zero(t, e.RetryAfter(), "it is not the recogniser that is away")
}

// brokenReader fails when it is read to the end.
type brokenReader struct {
	io.Reader
	err error
	end func()
}

func (r *brokenReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		if r.end != nil {
			r.end()
		}
		return n, r.err
	}
	return n, err
}

func (r *brokenReader) Close() error { return nil }

func testReadFails(t *testing.T, target Target) {
	t.Parallel()
	broken := errors.New("bad sector")
	audio := asr.FromBytes("lesson.wav", target.Audio)
	audio.Size += 10000
	audio.Open = func() (io.ReadCloser, error) {
		return &brokenReader{Reader: bytes.NewReader(target.Audio), err: broken}, nil
	}
	_, err := target.New(t).Recognize(t.Context(), audio)
	e := target.check(t, err)
	require.ErrorIs(t, err, broken)
	require.False(t, e.Permanent())
	require.Zero(t, e.RetryAfter())
}

func testCancelledBefore(t *testing.T, target Target) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := target.New(t).Recognize(ctx, asr.FromBytes("lesson.wav", target.Audio))
	requireCancelled(t, err)
}

func testCancelledDuring(t *testing.T, target Target) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	audio := asr.FromBytes("lesson.wav", target.Audio)
	audio.Size += 10000
	audio.Open = func() (io.ReadCloser, error) {
		// The caller goes while the last of the recording is read, which then never comes.
		return &brokenReader{Reader: bytes.NewReader(target.Audio), err: context.Canceled, end: cancel}, nil
	}
	_, err := target.New(t).Recognize(ctx, audio)
	requireCancelled(t, err)
}

func requireCancelled(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, context.Canceled)
	var permanent interface{ Permanent() bool }
	require.False(t, errors.As(err, &permanent) && permanent.Permanent(), "a caller that goes says nothing about the recording")
	_, ok := errors.AsType[*asr.Error](err)
	require.False(t, ok, "a caller that goes is no failure of the recogniser")
}

func testStatus(t *testing.T, target Target) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := target.New(t)
	s := rec.Status(ctx) // works for a caller that has gone: it makes no call
	require.NotEmpty(t, s.Provider)
	for _, secret := range target.Secrets {
		require.NotContains(t, s.Reason, secret)
		require.NotContains(t, s.Model, secret)
	}
}
