package audiofile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
)

// wav reads the chunks of a RIFF file up to its samples.
func (s *scanner) wav() (Info, error) {
	var info Info
	var bytesPerSecond, rate, samples uint64
	var compressed bool
	off := int64(12)
	for range 1000 { // far more chunks than recorders write
		h := s.at(off, 8)
		if h == nil {
			return info, errors.New("data chunk is missing")
		}
		id, size, body := string(h[:4]), int64(s.uintLE(off+4, 4)), off+8
		switch id {
		case "fmt ":
			if size < 16 || s.at(body, 16) == nil {
				return info, errors.New("fmt chunk is incomplete")
			}
			rate, bytesPerSecond = s.uintLE(body+4, 4), s.uintLE(body+8, 4)
			switch s.uintLE(body, 2) {
			case 1, 3, 6, 7, 0xFFFE: // PCM, float, A-law, µ-law, extensible
				bytesPerSecond = rate * s.uintLE(body+2, 2) * ((s.uintLE(body+14, 2) + 7) / 8)
			default:
				compressed = true
			}
		case "fact": // the number of samples of a compressed file
			if size >= 4 {
				samples = s.uintLE(body, 4)
			}
		case "data":
			if bytesPerSecond == 0 {
				return info, errors.New("fmt chunk is missing or has no sample rate")
			}
			// A recorder that streams, or was stopped, leaves 0, gigabytes, or too little. Some
			// write no byte after odd sizes.
			rest := s.size - body
			if size >= 1<<30 && size > rest || !s.endsChunk(body+size+size&1) && !s.endsChunk(body+size) {
				size = rest
				info.data = body
			}
			info.Duration = samplesDuration(uint64(size), bytesPerSecond)
			if compressed && samples > 0 {
				info.Duration = samplesDuration(samples, rate)
			}
			if size > rest {
				info = info.Measured(samplesDuration(uint64(rest), bytesPerSecond))
			}
			return info, nil
		}
		off = body + size + size&1
	}
	return info, errors.New("too many chunks before the data")
}

// endsChunk reports whether a chunk may end at off: the file does, or another chunk begins. A
// second file after that one is not found.
func (s *scanner) endsChunk(off int64) bool {
	h := s.at(off, 8)
	if h == nil {
		return true
	}
	named := bytes.IndexFunc(h[:4], func(r rune) bool { return r < ' ' || r > '~' }) < 0
	secondFile := string(h[:4]) == "RIFF"
	return named && !secondFile && off+8+int64(s.uintLE(off+4, 4)) <= s.size
}

// Repair corrects the beginning of the file of size bytes that i is of, where it is a WAV file
// whose header does not tell how long its sound is: decoders believe it.
func (i Info) Repair(head []byte, size int64) {
	if i.data == 0 || i.data > int64(len(head)) || size > math.MaxUint32 || string(head[:4]) != "RIFF" {
		return
	}
	binary.LittleEndian.PutUint32(head[4:], uint32(size-8))
	binary.LittleEndian.PutUint32(head[i.data-4:], uint32(size-i.data))
}
