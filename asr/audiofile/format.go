// Package audiofile determines what a recording is from its bytes: [Sniff] returns the format,
// [Inspect] also the duration, and [PCM] returns the WAV header that raw samples lack.
//
//	info, err := audiofile.Inspect(file, size)
//	fmt.Println(info.Format, info.Duration, err)
//
// It supports what phones and browsers record: WAV, MP3, AAC (ADTS), M4A/MP4/3GP, Ogg (Opus,
// Vorbis, Speex, FLAC), FLAC, WebM, AMR, CAF, AIFF and SILK. File names and declared types are
// ignored. Nothing is decoded: a duration comes from the headers of the container or of the frames,
// and is checked against the size of the file.
//
// All functions are safe for concurrent use. Their memory is bounded for any input.
package audiofile

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// Format is an audio file format, named by its usual file extension. The zero value means unknown.
type Format string

// The formats that Sniff returns.
const (
	WAV  Format = "wav" // RIFF or, for more than 4 GiB, RF64
	MP3  Format = "mp3"
	AAC  Format = "aac"  // ADTS frames
	M4A  Format = "m4a"  // ISO base media file: m4a, mp4, 3gp, mov
	OGG  Format = "ogg"  // Opus, Vorbis, Speex or FLAC in Ogg
	FLAC Format = "flac" // native FLAC
	WebM Format = "webm" // WebM or Matroska
	CAF  Format = "caf"  // Apple's Core Audio Format
	AIFF Format = "aiff" // AIFF or AIFF-C
	AMR  Format = "amr"  // AMR or AMR-WB
	SILK Format = "silk" // SILK v3, with or without the first byte that WeChat and QQ add
)

// HeadSize is how many bytes from the start of a file Sniff uses, and Repair: the sound of a WAV
// file of Core Audio begins there.
const HeadSize = 4096

// contentTypes are the media types that are not named like the format.
var contentTypes = map[Format]string{
	MP3: "audio/mpeg", M4A: "audio/mp4", CAF: "audio/x-caf", "": "application/octet-stream",
}

// ContentType returns the media type of the format, or "application/octet-stream" for an unknown
// one.
func (f Format) ContentType() string { return cmp.Or(contentTypes[f], "audio/"+string(f)) }

// Sniff returns the format of the file that begins with head, of which it uses at most the first
// HeadSize bytes. It returns "" for an unknown format.
func Sniff(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("#!SILK_V3")), bytes.HasPrefix(head, []byte("\x02#!SILK_V3")):
		return SILK
	case bytes.HasPrefix(head, []byte("#!AMR")): // RFC 4867: AMR, AMR-WB
		return AMR
	case bytes.HasPrefix(head, []byte("RF64")) && len(head) >= 12 && string(head[8:12]) == "WAVE": // EBU Tech 3306
		return WAV
	case bytes.HasPrefix(head, []byte("caff\x00\x01")):
		return CAF
	case bytes.HasPrefix(head, []byte("FORM")) && len(head) >= 12 && strings.HasPrefix(string(head[8:12]), "AIF"):
		return AIFF
	}
	for m := mimetype.Detect(head); m != nil; m = m.Parent() {
		switch {
		case m.Is("audio/wav"):
			return WAV
		case m.Is("audio/mpeg"):
			return MP3
		case m.Is("audio/aac"):
			return AAC
		case m.Is("audio/x-m4a"), m.Is("audio/mp4"), m.Is("video/mp4"), m.Is("video/3gpp"), m.Is("video/3gpp2"),
			m.Is("video/quicktime"):
			return M4A
		case m.Is("application/ogg"):
			return OGG
		case m.Is("audio/flac"):
			return FLAC
		case m.Is("video/webm"), m.Is("video/x-matroska"):
			return WebM
		}
	}
	return ""
}
