package feedback

import (
	"context"
	"io"
	"iter"
	"time"
)

// AudioStore keeps recordings. It makes the names itself; nothing of a
// client's ever becomes part of one. Implementations are safe for concurrent
// use, and package feedbacktest checks them.
type AudioStore interface {
	// Stage reads r to its end, once, in constant memory, and keeps the bytes
	// where they are not yet part of the store. It reads no further than one
	// byte past maxBytes, and then fails with [ErrAudioTooLarge]; no bytes at
	// all are [ErrAudioEmpty]; an error of r is [ErrUpload]; no room is
	// [ErrStorage]. A failed Stage leaves nothing behind.
	Stage(ctx context.Context, r io.Reader, maxBytes int64) (StagedAudio, error)

	// Open opens kept audio. A name that is not there is [ErrNotFound].
	Open(ctx context.Context, key string) (AudioFile, error)

	// Delete removes kept audio. A name that is not there is no error.
	Delete(ctx context.Context, key string) error

	// Keys gives the names of kept audio last written before a time of this
	// process, however far its clock is from the one that stamps the audio, and
	// discards staged audio that old, left by a process that died. The
	// sequence ends after its first error.
	Keys(ctx context.Context, before time.Time) iter.Seq2[string, error]
}

// StagedAudio is audio that was received and not yet kept. It is used by one
// goroutine.
type StagedAudio interface {
	// Info describes what was received.
	Info() AudioInfo

	// Keep makes the audio durable and returns its new name: when it returns,
	// the audio survives a power cut. Content that is not audio of a kind that
	// is taken is [ErrAudioType]. Where pcm is set and the content has no
	// form of its own, it is taken as raw samples and kept with a WAV header.
	Keep(ctx context.Context, pcm *PCM) (KeptAudio, error)

	// Discard removes the audio unless it was kept. It may be called at any
	// time and more than once.
	Discard() error
}

// AudioInfo describes received audio.
type AudioInfo struct {
	Size   int64  // bytes, as received
	SHA256 string // of the bytes as received, in lower-case hex
}

// KeptAudio names audio in a store.
type KeptAudio struct {
	Key         string
	ContentType string // recognised by content, as in "audio/mpeg"
}

// AudioFile is open audio.
type AudioFile interface {
	io.ReadSeekCloser
	Size() int64 // bytes, as kept
}

// PCM declares raw samples: signed 16-bit little-endian, interleaved.
type PCM struct {
	SampleRate int // samples a second of each channel
	Channels   int
}

// Transcriber turns audio into text. Its errors tell by method what they mean
// for the work: `Permanent() bool` true, trying again cannot help;
// `RetryAfter() time.Duration` above 0, the recogniser is away and the attempt
// does not count; neither, an ordinary failure. `PublicText() string` is what
// the teacher may read of it.
type Transcriber interface {
	Transcribe(ctx context.Context, a Audio) (Transcript, error)
}

// Audio is a recording handed to a [Transcriber].
type Audio struct {
	Name        string // a file name with a fitting extension, no directory
	ContentType string
	Size        int64 // bytes that Open gives

	// Open opens the audio from its start. It may be called more than once.
	Open func() (io.ReadCloser, error)
}

// Transcript is recognised speech.
type Transcript struct {
	Text     string        // "" when nothing was said
	Duration time.Duration // of the audio; 0 when unknown
}
