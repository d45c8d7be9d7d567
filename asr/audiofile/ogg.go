package audiofile

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ogg finds the codec in the first page and the end of the stream in the last one (RFC 3533,
// RFC 7845).
func (s *scanner) ogg() (Info, error) {
	page := s.at(0, 28)
	if page == nil || string(page[:4]) != "OggS" {
		return Info{}, errors.New("first page is incomplete")
	}
	serial, body := s.uintLE(14, 4), 27+int64(page[26])
	packet := bytes.Clone(s.at(body, int(min(max(s.size-body, 0), 80))))
	var info Info
	var rate uint32
	var skip uint64 // samples that decoders drop at the start
	switch {
	case bytes.HasPrefix(packet, []byte("OpusHead")) && len(packet) >= 19:
		info.Codec, rate = "opus", 48000
		skip = uint64(binary.LittleEndian.Uint16(packet[10:]))
	case bytes.HasPrefix(packet, []byte("\x01vorbis")) && len(packet) >= 30:
		info.Codec, rate = "vorbis", binary.LittleEndian.Uint32(packet[12:])
	case bytes.HasPrefix(packet, []byte("Speex   ")) && len(packet) >= 52:
		info.Codec, rate = "speex", binary.LittleEndian.Uint32(packet[36:])
	case bytes.HasPrefix(packet, []byte("\x7fFLAC")) && len(packet) >= 17+18:
		info.Codec, rate = "flac", binary.BigEndian.Uint32(packet[17+10:])>>12
	default:
		return info, nil
	}
	if granule, ok := s.lastGranule(serial); ok && granule > skip {
		info.Duration = samplesDuration(granule-skip, uint64(rate))
	}
	return info, nil
}

// lastGranule returns the position of the last page of a stream, if it begins in the last 256 KiB
// of the file, which contain several pages of the maximum size.
func (s *scanner) lastGranule(serial uint64) (uint64, bool) {
	for end := s.size; end > 0 && end > s.size-256<<10; end -= bufferSize / 2 {
		start := max(end-bufferSize, 0)
		b := s.at(start, int(end-start))
		for i := bytes.LastIndex(b, []byte("OggS")); i >= 0; i = bytes.LastIndex(b[:i], []byte("OggS")) {
			if len(b)-i < 27 || uint64(binary.LittleEndian.Uint32(b[i+14:])) != serial {
				continue
			}
			if g := binary.LittleEndian.Uint64(b[i+6:]); g>>63 == 0 { // all ones: no packet ends in this page
				return g, true
			}
		}
	}
	return 0, false
}
