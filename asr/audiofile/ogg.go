package audiofile

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ogg finds the codec in the first page and the end of the stream in the last one (RFC 3533, RFC 7845).
func (s *scanner) ogg() (Info, error) {
	var info Info
	page := s.at(0, 28)
	if page == nil || string(page[:4]) != "OggS" {
		return info, errors.New("its first page is cut off")
	}
	serial := binary.LittleEndian.Uint32(page[14:])
	body := 27 + int64(page[26])
	packet := bytes.Clone(s.at(body, int(min(max(s.size-body, 0), 80))))
	var rate, skip uint64 // of the granule position
	switch {
	case bytes.HasPrefix(packet, []byte("OpusHead")) && len(packet) >= 19:
		info.Codec = "opus"
		info.Channels = int(packet[9])
		info.SampleRate = 48000
		rate, skip = 48000, uint64(binary.LittleEndian.Uint16(packet[10:]))
	case bytes.HasPrefix(packet, []byte("\x01vorbis")) && len(packet) >= 30:
		info.Codec = "vorbis"
		info.Channels = int(packet[11])
		info.SampleRate = int(binary.LittleEndian.Uint32(packet[12:]))
	case bytes.HasPrefix(packet, []byte("Speex   ")) && len(packet) >= 52:
		info.Codec = "speex"
		info.SampleRate = int(binary.LittleEndian.Uint32(packet[36:]))
		info.Channels = int(binary.LittleEndian.Uint32(packet[48:]) & 0xFF)
	case bytes.HasPrefix(packet, []byte("\x7fFLAC")) && len(packet) >= 17+18:
		i, err := streamInfo(packet[17:])
		if err != nil {
			return info, err
		}
		info.Codec, info.SampleRate, info.Channels = "flac", i.SampleRate, i.Channels
	default:
		return info, nil // Ogg, but what is in it has no duration that is known here
	}
	if rate == 0 {
		rate = uint64(info.SampleRate)
	}
	if granule, ok := s.lastGranule(serial); ok && granule > skip {
		info.Duration = samplesDuration(granule-skip, rate)
	}
	return info, nil
}

// lastGranule looks for the last page of a stream from the end of the file: in the last 256 KiB, which hold several pages of the largest size.
func (s *scanner) lastGranule(serial uint32) (uint64, bool) {
	const step = windowSize / 2
	for end := s.size; end > 0 && end > s.size-256<<10; end -= step {
		start := max(end-windowSize, 0)
		b := s.at(start, int(end-start))
		for i := bytes.LastIndex(b, []byte("OggS")); i >= 0; i = bytes.LastIndex(b[:i], []byte("OggS")) {
			if len(b)-i < 27 || binary.LittleEndian.Uint32(b[i+14:]) != serial {
				continue
			}
			if g := binary.LittleEndian.Uint64(b[i+6:]); g>>63 == 0 { // all ones: no packet ends in this page
				return g, true
			}
		}
		if b == nil {
			return 0, false
		}
	}
	return 0, false
}
