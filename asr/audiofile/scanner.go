package audiofile

import (
	"io"
	"slices"
)

// scanner reads small pieces of a file at any offset through a buffer, and keeps the first error
// other than io.EOF.
//
// The containers are parsed in this package because a duration must not cost more than its headers:
// libraries for them decode the audio, read the whole file, or allocate as much memory as a number
// in a damaged file claims.
type scanner struct {
	r     io.ReaderAt
	size  int64
	err   error
	buf   []byte
	start int64 // offset of buf
}

const bufferSize = 64 << 10

// at returns n bytes at off, at most bufferSize, or nil beyond the end of the file or after an
// error. They are valid until the next call.
func (s *scanner) at(off int64, n int) []byte {
	if s.err != nil || off < 0 || off > s.size-int64(n) {
		return nil
	}
	if off < s.start || off+int64(n) > s.start+int64(len(s.buf)) {
		s.buf = slices.Grow(s.buf[:0], bufferSize)[:bufferSize]
		m, err := s.r.ReadAt(s.buf, off)
		s.buf, s.start = s.buf[:m], off
		if m < n {
			if err != nil && err != io.EOF {
				s.err = err
			}
			return nil
		}
	}
	return s.buf[off-s.start:][:n:n]
}

// uint returns the big-endian integer of n bytes at off, at most 8, or 0 where at returns nil.
func (s *scanner) uint(off int64, n int) uint64 {
	var v uint64
	for _, c := range s.at(off, n) {
		v = v<<8 | uint64(c)
	}
	return v
}

// uintLE is like uint for little-endian integers.
func (s *scanner) uintLE(off int64, n int) uint64 {
	var v uint64
	for i, c := range s.at(off, n) {
		v |= uint64(c) << (8 * i)
	}
	return v
}
