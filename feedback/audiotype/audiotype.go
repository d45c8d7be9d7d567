// Package audiotype recognises recordings by their content, whatever a client
// claims about them: mp3, AAC (ADTS), m4a, mp4 and 3gp, wav and RF64, ogg and
// opus, webm, flac and AMR. [Detect] looks at the first bytes, [DetectInSamples]
// harder where they may be samples; [WAVHeader] gives those the form they lack.
//
// An [lessonkit.example/feedback.AudioStore] of your own can use them.
package audiotype

import (
	"bytes"
	"encoding/binary"
	"math"

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
//
// Left out, though a recogniser may read them: QuickTime (mov), M4V and
// Matroska (mkv), which are films as a rule,
// and SILK, which is one messenger's own and made by no recorder.
var taken = map[string]Type{
	"audio/mpeg":      {"audio/mpeg", ".mp3"},
	"audio/aac":       {"audio/aac", ".aac"},
	"audio/x-m4a":     {"audio/mp4", ".m4a"},
	"audio/mp4":       {"audio/mp4", ".m4a"},
	"video/mp4":       {"audio/mp4", ".m4a"},
	"video/3gpp":      {"audio/mp4", ".m4a"}, // Android's recorder; the same boxes under another brand
	"video/3gpp2":     {"audio/mp4", ".m4a"},
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
	// EBU Tech 3306: WAV with lengths of 64 bits, which mimetype does not know.
	if bytes.HasPrefix(head, []byte("RF64")) && bytes.HasPrefix(head[min(8, len(head)):], []byte("WAVE")) {
		return WAV(), true
	}
	t, ok := taken[mimetype.Detect(head).String()]
	return t, ok
}

// DetectInSamples is [Detect] for what is declared as raw samples. One sample
// may be the word that frames of mp3 and AAC begin with: without a tag it takes
// three frames in a row to tell.
func DetectInSamples(head []byte) (Type, bool) {
	t, ok := Detect(head)
	if (t == taken["audio/mpeg"] || t == taken["audio/aac"]) && !bytes.HasPrefix(head, []byte("ID3")) {
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

// HeaderSize is the length of what [WAVHeader] returns.
const HeaderSize = 44

// WAVHeader returns the header that makes size bytes of signed 16-bit
// little-endian samples a WAV file. A header can count to 4 GiB; for more
// samples than that it announces as many as it can.
func WAVHeader(size int64, sampleRate, channels int) []byte {
	const bytesPerSample = 2
	frame := channels * bytesPerSample
	n := uint32(min(max(size, 0), math.MaxUint32-HeaderSize))
	b := make([]byte, 0, HeaderSize)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, HeaderSize-8+n)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16) // length of the format that follows
	b = binary.LittleEndian.AppendUint16(b, 1)  // linear samples
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(sampleRate))
	b = binary.LittleEndian.AppendUint32(b, uint32(sampleRate*frame))
	b = binary.LittleEndian.AppendUint16(b, uint16(frame))
	b = binary.LittleEndian.AppendUint16(b, 8*bytesPerSample)
	b = append(b, "data"...)
	return binary.LittleEndian.AppendUint32(b, n)
}
