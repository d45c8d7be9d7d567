package audiofile

import (
	"encoding/binary"
	"errors"
	"time"
)

// Sizes of AMR frames by type, with the byte that holds the type; 0 where there is no such type (RFC 4867, 3GPP TS 26.101 and 26.201).
var (
	amrSizes   = [16]int{13, 14, 16, 18, 20, 21, 27, 32, 6, 0, 0, 0, 0, 0, 0, 1}
	amrWBSizes = [16]int{18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 0, 0, 0, 0, 1, 1}
)

const speechFrame = 20 * time.Millisecond

// amr walks the frames behind one of the four magic numbers.
func (s *scanner) amr() (Info, error) {
	info := Info{SampleRate: 8000, Channels: 1}
	sizes, off := amrSizes, int64(0)
	head := string(s.at(0, int(min(s.size, 20))))
	for _, m := range []struct {
		magic    string
		wide     bool
		channels bool
	}{{"#!AMR\n", false, false}, {"#!AMR-WB\n", true, false}, {"#!AMR_MC1.0\n", false, true}, {"#!AMR-WB_MC1.0\n", true, true}} {
		if len(head) < len(m.magic) || head[:len(m.magic)] != m.magic {
			continue
		}
		off = int64(len(m.magic))
		if m.wide {
			sizes, info.SampleRate = amrWBSizes, 16000
		}
		if m.channels {
			b := s.at(off, 4)
			if b == nil || b[3]&15 == 0 {
				return info, errors.New("it names no number of channels")
			}
			info.Channels = int(b[3] & 15)
			off += 4
		}
	}
	if off == 0 {
		return info, errors.New("its first line is unknown")
	}
	frames := 0
	for {
		h := s.at(off, 1)
		if h == nil {
			break
		}
		size := sizes[h[0]>>3&15]
		if size == 0 || off+int64(size) > s.size {
			break
		}
		off += int64(size)
		frames++
	}
	if frames == 0 && off < s.size {
		return info, errors.New("its first frame is of no known type")
	}
	info.Duration = time.Duration(frames/info.Channels) * speechFrame
	return info, nil
}

// silk counts the packets. Recorders put one frame of 20 ms into each.
func (s *scanner) silk() Info {
	info := Info{Channels: 1}
	off := int64(len("#!SILK_V3"))
	if h := s.at(0, 1); h != nil && h[0] == 2 {
		off++
	}
	packets := 0
	for {
		h := s.at(off, 2)
		if h == nil {
			break
		}
		size := int64(binary.LittleEndian.Uint16(h))
		if size == 0xFFFF || off+2+size > s.size { // the end mark, or cut off
			break
		}
		off += 2 + size
		packets++
	}
	info.Duration = time.Duration(packets) * speechFrame
	return info
}
