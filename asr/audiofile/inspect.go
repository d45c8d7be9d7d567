package audiofile

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrNotAudio is in the error of Inspect for bytes that are not audio of a known format, or whose
// structure is damaged at the start.
var ErrNotAudio = errors.New("not audio of a known format")

// Info is what the bytes of a recording tell about it. Unknown values are zero.
type Info struct {
	Format Format
	// Codec is "opus", "vorbis", "speex" or "flac" for Ogg, and empty for other formats.
	Codec string
	// Duration is 0 when it is unknown, as for AMR, CAF, AIFF and SILK, or not plausible for the
	// size of the file.
	Duration time.Duration
	// Header is the duration that the header states, if the recording is shorter by more than a
	// tenth and by more than two seconds: it was cut off. Otherwise it is 0.
	Header time.Duration

	data int64 // offset of the sound of a WAV file where it is all that follows, against the header
}

// Measured returns i with the duration that a decoder has found, and with Header if that of i was
// longer.
func (i Info) Measured(d time.Duration) Info {
	header := i.Header
	if i.Format != WebM && i.Format != OGG { // their duration is when the last block begins: a gap is no end
		header = max(header, i.Duration)
	}
	i.Duration, i.Header = d, 0
	if header-d > max(2*time.Second, d/10) {
		i.Header = header
	}
	return i
}

// minRate is the lowest plausible rate of a recording, in bytes per second: silence needs more, as
// FLAC at 8 kHz and as Opus without discontinuous transmission.
const minRate = 8

// maxDuration is the longest duration that Inspect returns.
const maxDuration = 1 << 20 * time.Second

// Inspect returns the format and the duration of the recording of size bytes in r. It reads only
// headers, except that it reads every frame of MP3 and AAC, and every block of WebM, in pieces
// of 64 KiB. An error of r is wrapped; one about the content wraps ErrNotAudio.
// A file that is cut off is not an error.
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
	}
	if s.err != nil {
		return Info{}, fmt.Errorf("inspect %s: %w", f, s.err)
	}
	if err != nil {
		return Info{}, fmt.Errorf("inspect %s: %w: %w", f, ErrNotAudio, err)
	}
	info.Format = f
	if info.Duration < 0 || info.Duration > maxDuration || info.Duration/time.Second > time.Duration(size/minRate) {
		info.Duration = 0
	}
	if info.Duration == 0 || info.Header > maxDuration {
		info.Header = 0
	}
	return info, nil
}
