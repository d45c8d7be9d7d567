package audiofile

import (
	"errors"
)

// frame is the header of a frame.
type frame struct {
	size    int // including the header, in bytes
	samples int // per channel
	rate    int
}

// stream is a format that is a sequence of frames, each with a header of headerSize bytes.
type stream struct {
	headerSize int
	parse      func(h []byte) (frame, bool)
	// silent reports whether the first frame contains information instead of sound.
	silent func(s *scanner, off int64, f frame) bool
}

// maxResync is how many bytes are searched for the next frame.
const maxResync = 128 << 10

// walk adds up all frames. It skips what is between them, and ignores a last frame that is cut off.
func (s *scanner) walk(off int64, st stream) (Info, error) {
	var info Info
	first, lost := true, int64(0)
	for off+int64(st.headerSize) <= s.size && lost < maxResync {
		h := s.at(off, st.headerSize)
		if h == nil {
			break
		}
		f, ok := st.parse(h)
		if ok && (first || lost > 0) { // another frame or the end of the file must follow
			ok = s.follows(off+int64(f.size), st, f)
		}
		if !ok {
			off, lost = off+1, lost+1
			continue
		}
		lost = 0
		if off+int64(f.size) > s.size {
			break
		}
		if !first || st.silent == nil || !st.silent(s, off, f) {
			info.Duration += samplesDuration(uint64(f.samples), uint64(f.rate))
		}
		first = false
		off += int64(f.size)
	}
	if first {
		return info, errors.New("no complete frame")
	}
	return info, nil
}

func (s *scanner) follows(off int64, st stream, before frame) bool {
	h := s.at(off, st.headerSize)
	if h == nil {
		return off <= s.size
	}
	if f, ok := st.parse(h); ok {
		return f.rate == before.rate
	}
	return string(h[:3]) == "TAG" || string(h[:3]) == "APE" || string(h[:3]) == "ID3"
}

// skipID3 returns the offset after the ID3v2 tags.
func (s *scanner) skipID3() int64 {
	var off int64
	for {
		h := s.at(off, 10)
		if h == nil || string(h[:3]) != "ID3" {
			return off
		}
		size := int64(h[6]&0x7f)<<21 | int64(h[7]&0x7f)<<14 | int64(h[8]&0x7f)<<7 | int64(h[9]&0x7f)
		if h[5]&0x10 != 0 { // a footer
			size += 10
		}
		off += 10 + size
	}
}

var (
	mp3Rates  = [3]int{44100, 48000, 32000} // of MPEG 1
	mp3Kbits1 = [16]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0}
	mp3Kbits2 = [16]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0} // 2 and 2.5
)

// mp3Frame parses the header of an MPEG audio frame of layer III (ISO 11172-3, 13818-3).
func mp3Frame(h []byte) (frame, bool) {
	version, rateIndex := h[1]>>3&3, h[2]>>2&3 // version 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
	if h[0] != 0xFF || h[1]&0xE6 != 0xE2 || version == 1 || rateIndex == 3 {
		return frame{}, false
	}
	f := frame{rate: mp3Rates[rateIndex], samples: 1152}
	kbits := mp3Kbits1[h[2]>>4]
	if version != 3 {
		f.rate, f.samples, kbits = f.rate/2, 576, mp3Kbits2[h[2]>>4]
	}
	if version == 0 {
		f.rate /= 2
	}
	f.size = f.samples/8*kbits*1000/f.rate + int(h[2]>>1&1)
	return f, kbits > 0
}

// mp3Info reports whether a frame contains a table of contents instead of sound.
func mp3Info(s *scanner, off int64, f frame) bool {
	b := s.at(off, min(f.size, 64))
	for i := 4; i+4 <= len(b); i++ {
		switch string(b[i : i+4]) {
		case "Xing", "Info", "VBRI":
			return true
		}
	}
	return false
}

func (s *scanner) mp3() (Info, error) {
	return s.walk(s.skipID3(), stream{headerSize: 4, parse: mp3Frame, silent: mp3Info})
}

var aacRates = [13]int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

// aacFrame parses an ADTS header (ISO 13818-7).
func aacFrame(h []byte) (frame, bool) {
	rateIndex := int(h[2] >> 2 & 15)
	if h[0] != 0xFF || h[1]&0xF6 != 0xF0 || rateIndex >= len(aacRates) {
		return frame{}, false
	}
	f := frame{
		size:    int(h[3]&3)<<11 | int(h[4])<<3 | int(h[5])>>5,
		samples: 1024 * (int(h[6]&3) + 1),
		rate:    aacRates[rateIndex],
	}
	return f, f.size > 7
}

func (s *scanner) aac() (Info, error) {
	return s.walk(s.skipID3(), stream{headerSize: 7, parse: aacFrame})
}
