// Package source opens recordings for the recognisers: once, with the format known, the length fixed, and a WAV header in front of
// raw samples.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
)

// Source is an opened recording.
type Source struct {
	// Prefix comes before Body: a WAV header, or nil.
	Prefix []byte
	// Body is the recording from its start: an *os.File where Audio.Open gave one.
	Body io.Reader
	// Size is the length of Prefix and Body together. Body gives at most that.
	Size int64
	// Info is what the head of the recording told. Duration is only set for raw samples.
	Info audiofile.Info

	closer io.Closer
	once   sync.Once
}

// Close closes the recording. It may be called more than once, and while another goroutine reads: net/http does both.
func (s *Source) Close() error {
	var err error
	s.once.Do(func() { err = s.closer.Close() })
	return err
}

// Open opens the recording and finds its format. Audio that is empty or no audio is an *asr.Error of the class
// ErrUnusableAudio; a recording that cannot be opened or has another size than it says is an ordinary error.
func Open(op string, a asr.Audio) (*Source, error) {
	if a.Open == nil {
		return nil, &asr.Error{Op: op, Message: "audio cannot be opened: Audio.Open is nil", Class: asr.ErrMisconfigured, Final: true}
	}
	if a.Size <= 0 {
		return nil, Unusable(op, "it is empty")
	}
	pcm, isPCM, declared := audiofile.ParsePCM(a.ContentType)
	rc, err := a.Open()
	if err != nil {
		return nil, &asr.Error{Op: op, Message: "open audio", Err: err}
	}
	head := make([]byte, audiofile.HeadSize)
	n, err := io.ReadFull(rc, head[:min(int64(len(head)), a.Size)])
	head = head[:n]
	if err != nil {
		rc.Close()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("it ends after %d bytes of %d", n, a.Size)
		}
		return nil, &asr.Error{Op: op, Message: "read audio", Err: err}
	}
	s := &Source{Size: a.Size, Info: audiofile.Info{Format: audiofile.Sniff(head)}}
	if s.Info.Format == "" && isPCM {
		if declared != nil {
			rc.Close()
			return nil, Unusable(op, declared.Error())
		}
		s.Info = audiofile.Info{Format: audiofile.WAV, SampleRate: pcm.Rate, Channels: pcm.Channels, Duration: pcm.Duration(a.Size)}
		s.Prefix = pcm.Header(a.Size)
		s.Size += int64(len(s.Prefix))
	}
	if s.Info.Format == "" {
		rc.Close()
		return nil, Unusable(op, "it is not audio of a known format (known: wav, mp3, aac, m4a, ogg, flac, webm, amr, silk; raw samples when declared as audio/pcm;rate=16000)")
	}
	// Begin again at the start: by seeking, so that a file stays a file, else by opening anew.
	if seeker, ok := rc.(io.Seeker); ok {
		if _, err = seeker.Seek(0, io.SeekStart); err != nil {
			rc.Close()
		}
	} else {
		rc.Close()
		rc, err = a.Open()
	}
	if err != nil {
		return nil, &asr.Error{Op: op, Message: "open audio again", Err: err}
	}
	s.closer, s.Body = rc, rc
	if s.Prefix != nil {
		s.Body = pcm.Samples(rc)
	}
	return s, nil
}

// Inspect reads what the recording's own bytes tell, where they can be read at random.
func Inspect(a asr.Audio) (audiofile.Info, error) {
	rc, err := a.Open()
	if err != nil {
		return audiofile.Info{}, err
	}
	defer rc.Close()
	r, ok := rc.(io.ReaderAt)
	if !ok {
		return audiofile.Info{}, errors.New("it cannot be read at random")
	}
	return audiofile.Inspect(r, a.Size)
}

// Duration is the best known length of the recording: from its own bytes, else as declared for raw samples, else 0. It is a
// hint for waiting times and limits.
func Duration(a asr.Audio) time.Duration {
	if info, err := Inspect(a); err == nil {
		return info.Duration
	}
	if pcm, ok, err := audiofile.ParsePCM(a.ContentType); ok && err == nil {
		return pcm.Duration(a.Size)
	}
	return 0
}

// Unusable is the error for audio that no attempt can help.
func Unusable(op, message string) error {
	return &asr.Error{Op: op, Class: asr.ErrUnusableAudio, Message: message}
}

// Interrupted returns ctx's error for an operation that ctx ended, so that it carries neither advice of an asr.Error. nil while ctx goes on.
func Interrupted(ctx context.Context, op string) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("recognize (%s): %w", op, ctx.Err())
}
