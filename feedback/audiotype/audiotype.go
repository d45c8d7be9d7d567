// Package audiotype recognises recordings by their content, whatever a client
// claims about them: mp3, AAC (ADTS), m4a and mp4, wav, ogg and opus, webm,
// flac and AMR. [Detect] looks at the first bytes; [WAVHeader] gives raw
// samples the form they lack.
//
// An [lessonkit.example/feedback.AudioStore] of your own can use both.
package audiotype

import (
	"bytes"
	"encoding/binary"

	"github.com/gabriel-vasile/mimetype"
)

// Sniff is how many bytes of a recording [Detect] wants to see. Fewer will do
// for a shorter recording.
const Sniff = 3072

// Type is a kind of recording.
type Type struct {
	ContentType string // as in "audio/mpeg"
	Extension   string // as in ".mp3"
}

// taken maps what mimetype says to what is taken. Its names follow the
// container, so that an m4a from one recorder and an mp4 from another differ.
var taken = map[string]Type{
	"audio/mpeg":      {"audio/mpeg", ".mp3"},
	"audio/aac":       {"audio/aac", ".aac"},
	"audio/x-m4a":     {"audio/mp4", ".m4a"},
	"audio/mp4":       {"audio/mp4", ".m4a"},
	"video/mp4":       {"audio/mp4", ".m4a"},
	"audio/wav":       {"audio/wav", ".wav"},
	"audio/ogg":       {"audio/ogg", ".ogg"},
	"application/ogg": {"audio/ogg", ".ogg"},
	"video/webm":      {"audio/webm", ".webm"},
	"audio/webm":      {"audio/webm", ".webm"},
	"audio/flac":      {"audio/flac", ".flac"},
	"audio/amr":       {"audio/amr", ".amr"},
}

// WAV is the type of what [WAVHeader] begins.
func WAV() Type { return taken["audio/wav"] }

// Detect recognises a recording by its first bytes and tells whether it is of
// a kind that is taken.
func Detect(head []byte) (Type, bool) {
	head = head[:min(len(head), Sniff)]
	// Both forms of RFC 4867, section 5; the wideband one is not known to mimetype.
	if bytes.HasPrefix(head, []byte("#!AMR\n")) || bytes.HasPrefix(head, []byte("#!AMR-WB\n")) {
		return taken["audio/amr"], true
	}
	t, ok := taken[mimetype.Detect(head).String()]
	return t, ok
}

// HeaderSize is the length of what [WAVHeader] returns.
const HeaderSize = 44

// WAVHeader returns the header that makes size bytes of signed 16-bit
// little-endian samples a WAV file.
func WAVHeader(size int64, sampleRate, channels int) []byte {
	const bytesPerSample = 2
	frame := channels * bytesPerSample
	b := make([]byte, 0, HeaderSize)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(HeaderSize-8+size))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16) // length of the format that follows
	b = binary.LittleEndian.AppendUint16(b, 1)  // linear samples
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(sampleRate))
	b = binary.LittleEndian.AppendUint32(b, uint32(sampleRate*frame))
	b = binary.LittleEndian.AppendUint16(b, uint16(frame))
	b = binary.LittleEndian.AppendUint16(b, 8*bytesPerSample)
	b = append(b, "data"...)
	return binary.LittleEndian.AppendUint32(b, uint32(size))
}
