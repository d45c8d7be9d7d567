package audiofile

import (
	"errors"
	"strings"
	"time"
)

// Sizes of AMR frames by type, including the type byte; 0 for a type that does not exist (RFC 4867,
// 3GPP TS 26.101 and 26.201).
var (
	amrSizes   = [16]int64{13, 14, 16, 18, 20, 21, 27, 32, 6, 0, 0, 0, 0, 0, 0, 1}
	amrWBSizes = [16]int64{18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 0, 0, 0, 0, 1, 1}
)

const speechFrame = 20 * time.Millisecond

// amr counts the frames after one of the four magic numbers.
func (s *scanner) amr() (Info, error) {
	info := Info{SampleRate: 8000, Channels: 1}
	magic, _, ok := strings.Cut(string(s.at(0, int(min(s.size, 20)))), "\n")
	off := int64(len(magic)) + 1
	sizes := amrSizes
	switch magic {
	case "#!AMR", "#!AMR_MC1.0":
	case "#!AMR-WB", "#!AMR-WB_MC1.0":
		sizes, info.SampleRate = amrWBSizes, 16000
	default:
		ok = false
	}
	if !ok {
		return info, errors.New("unknown magic number")
	}
	if strings.HasSuffix(magic, "_MC1.0") {
		info.Channels = int(s.uint(off, 4) & 15)
		off += 4
		if info.Channels == 0 {
			return info, errors.New("number of channels is missing")
		}
	}
	frames := 0
	for {
		h := s.at(off, 1)
		if h == nil {
			break
		}
		size := sizes[h[0]>>3&15]
		if size == 0 || off+size > s.size {
			break
		}
		off += size
		frames++
	}
	if frames == 0 && off < s.size {
		return info, errors.New("first frame has an unknown type")
	}
	info.Duration = time.Duration(frames/info.Channels) * speechFrame
	return info, nil
}

// silk counts the packets. Recorders write one frame of 20 ms in each.
func (s *scanner) silk() Info {
	off := int64(len("#!SILK_V3"))
	if s.uint(0, 1) == 2 {
		off++
	}
	packets := 0
	for s.at(off, 2) != nil {
		size := int64(s.uintLE(off, 2))
		if size == 0xFFFF || off+2+size > s.size { // the end mark, or cut off
			break
		}
		off += 2 + size
		packets++
	}
	return Info{Channels: 1, Duration: time.Duration(packets) * speechFrame}
}
