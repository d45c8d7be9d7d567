package audiofile

import (
	"encoding/binary"
	"errors"
)

// flac reads the STREAMINFO block of a native FLAC file (RFC 9639, section 8.2).
func (s *scanner) flac() (Info, error) {
	b := s.at(4, 4+18)
	if b == nil || b[0]&0x7f != 0 {
		return Info{}, errors.New("STREAMINFO block is missing")
	}
	v := binary.BigEndian.Uint64(b[4+10:])
	if v>>44 == 0 {
		return Info{}, errors.New("STREAMINFO block has no sample rate")
	}
	return Info{Duration: samplesDuration(v&(1<<36-1), v>>44)}, nil
}
