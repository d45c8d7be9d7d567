// Package audiotype detects the type of recordings from their content: mp3, AAC (ADTS), m4a, mp4
// and 3gp, wav and RF64, ogg and opus, webm, flac and AMR, which are accepted; QuickTime, Matroska,
// CAF and AIFF, which are accepted if recordings are converted; and SILK, which is not. It is for
// implementations of [feedback.AudioStore].
//
//	t, ok := audiotype.Detect(head) // the first HeadSize bytes of a recording
//	fmt.Println(t.ContentType, ok)
package audiotype

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/gabriel-vasile/mimetype"

	"lessonkit.example/feedback"
)

// HeadSize is how many of the first bytes of a recording [Detect] and [DetectInSamples] use.
const HeadSize = 3072

// Type is a type of recording.
type Type struct {
	ContentType string // as in "audio/mpeg"
	Extension   string // as in ".mp3"
}

// types maps the types of package mimetype to types of recordings that transcribers, or at least
// ffmpeg, decode.
var types = map[string]Type{
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
	"video/quicktime": mov,
	"video/x-m4v":     mov,
	"video/matroska":  mka,
	"audio/aiff":      aiff,
}

// Types that are not supported, or only if recordings are converted.
var (
	mov  = Type{"video/quicktime", ".mov"}
	mka  = Type{"audio/x-matroska", ".mka"}
	caf  = Type{"audio/x-caf", ".caf"}
	aiff = Type{"audio/aiff", ".aiff"}
	silk = Type{"audio/silk", ".silk"}
)

// advice tells, for the types that are not supported, what they are and what to change.
var advice = map[Type]string{
	mov: "a film (QuickTime, mov); record only the sound, with the phone's voice recorder, and set its " +
		"format to m4a or mp3 (an iPhone's Voice Memos records m4a)",
	mka: "Matroska (mka or mkv); set the format of the recorder to m4a, mp3 or ogg",
	caf: "Core Audio (caf); set the format of the recorder to m4a (AAC) or mp3, or record with an iPhone's " +
		"Voice Memos, which records m4a",
	aiff: "AIFF; set the format of the recorder to m4a, mp3 or wav",
	silk: "SILK, a messenger's voice message; record with the phone's voice recorder, set to m4a or mp3, " +
		"and upload that file",
}

// Check returns nil if recordings of the type are accepted. Otherwise it fails with
// [feedback.ErrAudioType] and tells the teacher what to change. converted tells whether ffmpeg
// converts recordings before they are recognised. The zero Type is content that is not audio of a
// known type.
func (t Type) Check(converted bool) error {
	what, listed := advice[t]
	message := "the recording cannot be used, because it is " + what
	switch {
	case t == Type{}:
		message = "the content is not audio of a supported type: " +
			"mp3, aac, m4a, wav, ogg, webm, flac, amr, " +
			"or raw samples (PCM) declared with their sample rate and channels"
	case !listed, converted && t != silk:
		return nil
	}
	return &feedback.Error{Kind: feedback.ErrAudioType, Message: message}
}

// WAV is the type of audio that starts with a [WAVHeader].
func WAV() Type { return types["audio/wav"] }

// Detect returns the type of a recording from its first bytes, and whether it is known. Not every
// known type is accepted: see [Type.Check].
func Detect(head []byte) (Type, bool) {
	head = head[:min(len(head), HeadSize)]
	is := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	// RF64 is WAV with lengths of 64 bits (EBU Tech 3306). mimetype does not support these types.
	case is("RF64") && bytes.HasPrefix(head[min(8, len(head)):], []byte("WAVE")):
		return WAV(), true
	case is("caff\x00\x01"):
		return caf, true
	case is("FORM") && bytes.HasPrefix(head[min(8, len(head)):], []byte("AIFC")): // AIFF, compressed
		return aiff, true
	case is("#!SILK_V3"), is("\x02#!SILK_V3"):
		return silk, true
	}
	t, ok := types[mimetype.Detect(head).String()]
	return t, ok
}

// DetectInSamples is [Detect] for content that is declared as raw samples. Since samples can have
// the value of the sync word of mp3 and AAC, it detects these types by their tag only.
func DetectInSamples(head []byte) (Type, bool) {
	t, ok := Detect(head)
	if (t == types["audio/mpeg"] || t == types["audio/aac"]) && !bytes.HasPrefix(head, []byte("ID3")) {
		return Type{}, false
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
