package audiofile

import (
	"io"
)

// scanner reads small pieces of a file at any offset through one window, and remembers the first error that is not the end of the file.
type scanner struct {
	r      io.ReaderAt
	size   int64
	err    error
	window []byte
	start  int64 // offset of window
}

const windowSize = 64 << 10

// at returns n bytes at off, or nil when the file ends before or cannot be read. They are valid until the next call. n is at most windowSize.
func (s *scanner) at(off int64, n int) []byte {
	if s.err != nil || off < 0 || off > s.size-int64(n) {
		return nil
	}
	if off < s.start || off+int64(n) > s.start+int64(len(s.window)) {
		if cap(s.window) == 0 {
			s.window = make([]byte, windowSize)
		}
		s.window = s.window[:cap(s.window)]
		m, err := s.r.ReadAt(s.window, off)
		s.window, s.start = s.window[:m], off
		if m < n {
			if err != nil && err != io.EOF {
				s.err = err
			}
			return nil
		}
	}
	return s.window[off-s.start:][:n:n]
}
