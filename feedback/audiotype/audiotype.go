// Package audiotype detects the type of recordings from their content: mp3, AAC (ADTS), m4a, mp4
// and 3gp, wav and RF64, ogg and opus, webm, flac and AMR. It is for implementations of
// [lessonkit.example/feedback.AudioStore].
package audiotype

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/gabriel-vasile/mimetype"
)

// HeadSize is how many of the first bytes of a recording [Detect] and [DetectInSamples] use.
const HeadSize = 3072

// Type is a type of recording.
type Type struct {
	ContentType string // as in "audio/mpeg"
	Extension   string // as in ".mp3"
}

// supported maps the types of package mimetype to types of recordings. It does not contain
// QuickTime (mov), M4V and Matroska (mkv), which usually are films, and SILK, which only one
// messenger uses.
var supported = map[string]Type{
	"audio/mpeg":      {"audio/mpeg", ".mp3"},
	"audio/aac":       {"audio/aac", ".aac"},
	"audio/x-m4a":     {"audio/mp4", ".m4a"},
	"audio/mp4":       {"audio/mp4", ".m4a"},
	"video/mp4":       {"audio/mp4", ".m4a"},
	"video/3gpp":      {"audio/mp4", ".m4a"}, // Android's recorder; another brand of the same container
	"video/3gpp2":     {"audio/mp4", ".m4a"},
	"audio/wav":       {"audio/wav", ".wav"},
	"audio/ogg":       {"audio/ogg", ".ogg"},
	"application/ogg": {"audio/ogg", ".ogg"},
	"video/webm":      {"audio/webm", ".webm"},
	"audio/webm":      {"audio/webm", ".webm"},
	"audio/flac":      {"audio/flac", ".flac"},
	"audio/amr":       {"audio/amr", ".amr"},
}

// WAV is the type of audio that starts with a [WAVHeader].
func WAV() Type { return supported["audio/wav"] }

// Detect returns the type of a recording from its first bytes, and whether it is supported.
func Detect(head []byte) (Type, bool) {
	head = head[:min(len(head), HeadSize)]
	// RF64 is WAV with lengths of 64 bits (EBU Tech 3306), which mimetype does not support.
	if bytes.HasPrefix(head, []byte("RF64")) && bytes.HasPrefix(head[min(8, len(head)):], []byte("WAVE")) {
		return WAV(), true
	}
	t, ok := supported[mimetype.Detect(head).String()]
	return t, ok
}

// DetectInSamples is [Detect] for content that may be raw samples. Since samples can have the value
// of the sync word of mp3 and AAC, it requires three consecutive frames of these types, or a tag.
func DetectInSamples(head []byte) (Type, bool) {
	t, ok := Detect(head)
	if (t == supported["audio/mpeg"] || t == supported["audio/aac"]) && !bytes.HasPrefix(head, []byte("ID3")) {
		for range 3 {
			n := frameSize(head)
			if n == 0 {
				return Type{}, false
			}
			head = head[min(n, len(head)):]
		}
	}
	return t, ok
}

// HeaderSize is the length of a [WAVHeader].
const HeaderSize = 44

// WAVHeader returns the header of a WAV file with size bytes of signed 16-bit little-endian
// samples. For more than a header can express (4 GiB), it contains the greatest size.
func WAVHeader(size int64, sampleRate, channels int) []byte {
	const bytesPerSample = 2
	frame := channels * bytesPerSample
	n := uint32(min(max(size, 0), math.MaxUint32-HeaderSize))
	b := make([]byte, 0, HeaderSize)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, HeaderSize-8+n)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16) // length of the format chunk
	b = binary.LittleEndian.AppendUint16(b, 1)  // linear PCM
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(sampleRate))
	b = binary.LittleEndian.AppendUint32(b, uint32(sampleRate*frame))
	b = binary.LittleEndian.AppendUint16(b, uint16(frame))
	b = binary.LittleEndian.AppendUint16(b, 8*bytesPerSample)
	b = append(b, "data"...)
	return binary.LittleEndian.AppendUint32(b, n)
}
