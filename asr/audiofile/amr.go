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

// amr counts the frames after the magic number of one channel.
func (s *scanner) amr() (Info, error) {
	var info Info
	magic, _, ok := strings.Cut(string(s.at(0, int(min(s.size, 20)))), "\n")
	off := int64(len(magic)) + 1
	sizes := amrSizes
	if magic == "#!AMR-WB" {
		sizes = amrWBSizes
	} else if magic != "#!AMR" || !ok {
		return info, errors.New("unknown magic number")
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
	info.Duration = time.Duration(frames) * speechFrame
	return info, nil
}
