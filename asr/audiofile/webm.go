package audiofile

import (
	"math"
	"math/bits"
	"time"
)

// Identifiers of the elements that are read (RFC 8794, RFC 9559).
const (
	ebmlSegment   = 0x18538067
	ebmlInfo      = 0x1549A966
	ebmlScale     = 0x2AD7B1
	ebmlDuration  = 0x4489
	ebmlCluster   = 0x1F43B675
	ebmlTimestamp = 0xE7
	ebmlSimple    = 0xA3
	ebmlGroup     = 0xA0
	ebmlBlock     = 0xA1
)

// webm reads the time of the last block, because recorders of browsers write no duration, and a
// recording may be shorter than its header says.
func (s *scanner) webm() Info {
	info := Info{}
	scale, length := uint64(time.Millisecond), float64(0)
	var cluster, last uint64
	for off := int64(0); off < s.size && s.err == nil; {
		id, n := s.vint(off, false)
		if n == 0 {
			break
		}
		size, m := s.vint(off+int64(n), true)
		if m == 0 {
			break
		}
		body := off + int64(n+m)
		switch id {
		case ebmlSegment, ebmlInfo, ebmlCluster, ebmlGroup:
			off = body // its elements follow
			continue
		case ebmlScale:
			if v := s.integer(body, size); v > 0 {
				scale = v
			}
		case ebmlDuration:
			length = s.float(body, size)
		case ebmlTimestamp:
			cluster = s.integer(body, size)
			last = max(last, cluster)
		case ebmlSimple, ebmlBlock:
			if _, k := s.vint(body, true); k > 0 {
				if at := int64(cluster) + int64(int16(s.uint(body+int64(k), 2))); at > 0 {
					last = max(last, uint64(at))
				}
			}
		}
		if size > uint64(s.size-body) {
			break
		}
		off = body + int64(size)
	}
	duration := func(units float64) time.Duration {
		if ns := units * float64(scale); ns < float64(maxDuration) {
			return time.Duration(ns)
		}
		return 0
	}
	info.Duration = duration(length)
	if measured := info.Measured(duration(float64(last))); length == 0 || last > 0 && measured.Header > 0 {
		return measured
	}
	return info
}

// vint reads an element identifier or, if unmark is set, a size. n is its length, or 0 on failure.
func (s *scanner) vint(off int64, unmark bool) (v uint64, n int) {
	b := s.at(off, 1)
	if b == nil || b[0] == 0 {
		return 0, 0
	}
	n = bits.LeadingZeros8(b[0]) + 1
	if s.at(off, n) == nil {
		return 0, 0
	}
	v = s.uint(off, n)
	if unmark {
		v &^= 1 << (7 * n)
		if v == 1<<(7*n)-1 { // unknown size
			v = math.MaxUint64
		}
	}
	return v, n
}

// integer reads an unsigned integer element.
func (s *scanner) integer(off int64, size uint64) uint64 {
	if size > 8 {
		return 0
	}
	return s.uint(off, int(size))
}

// float reads a floating-point element, or returns 0 for a value that is not plausible.
func (s *scanner) float(off int64, size uint64) float64 {
	var f float64
	switch size {
	case 4:
		f = float64(math.Float32frombits(uint32(s.uint(off, 4))))
	case 8:
		f = math.Float64frombits(s.uint(off, 8))
	}
	if !(f > 0 && f < 1e15) {
		return 0
	}
	return f
}
