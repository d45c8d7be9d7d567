package audiofile

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrNotAudio is in the error of Inspect for bytes that are no audio of a known format, or whose structure is broken
// from the start.
var ErrNotAudio = errors.New("not audio of a known format")

// Info is what a recording's own bytes tell about it. What they do not tell is zero.
type Info struct {
	Format Format
	// Codec is "opus", "vorbis", "speex" or "flac" for Ogg.
	Codec string
	// Duration is computed from the headers or by walking the frames; it is 0 when it cannot be told or when it cannot
	// be true for the size of the file.
	Duration time.Duration
	// SampleRate is in samples a second, Channels the number of channels.
	SampleRate int
	Channels   int
}

// slowest is the lowest plausible bit rate of a recording, in bytes a second: silence as FLAC at 8 kHz or as Opus
// without transmission needs more. A header that claims a longer duration is not believed.
const slowest = 8

// longest bounds every duration this package reports.
const longest = 1 << 20 * time.Second

// Inspect reads the format, the sample rate, the channels and the duration of the recording of size bytes in r. It reads only headers,
// except that MP3, AAC, AMR, SILK and a WebM without
// a duration are walked frame by frame, in pieces of 64 KiB. An error of r itself is returned
// as it is; one about the content wraps ErrNotAudio. A file that is merely cut off is no error.
func Inspect(r io.ReaderAt, size int64) (Info, error) {
	head := make([]byte, min(max(size, 0), HeadSize))
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return Info{}, err
	}
	head = head[:n]
	f := Sniff(head)
	if f == "" {
		return Info{}, fmt.Errorf("inspect audio: %w", ErrNotAudio)
	}
	s := &scanner{r: r, size: size}
	var info Info
	switch f {
	case WAV:
		info, err = s.wav()
	case MP3:
		info, err = s.mp3()
	case AAC:
		info, err = s.aac()
	case M4A:
		info = s.mp4()
	case OGG:
		info, err = s.ogg()
	case FLAC:
		info, err = s.flac()
	case WebM:
		info = s.webm()
	case AMR:
		info, err = s.amr()
	case SILK:
		info = s.silk()
	}
	if s.err != nil {
		return Info{}, fmt.Errorf("inspect %s: %w", f, s.err)
	}
	if err != nil {
		return Info{}, fmt.Errorf("inspect %s: %w: %w", f, ErrNotAudio, err)
	}
	info.Format = f
	if info.Duration < 0 || info.Duration > longest || info.Duration/time.Second > time.Duration(size/slowest) {
		info.Duration = 0
	}
	return info, nil
}
