package audiofile

import (
	"encoding/binary"
	"errors"
)

// wav reads the chunks of a RIFF or RF64 file up to its samples.
func (s *scanner) wav() (Info, error) {
	var info Info
	var bytesPerSecond, samples uint64
	var exact bool // each sample has a fixed number of bytes
	data64 := int64(-1)
	off := int64(12)
	for range 1000 { // more chunks than any recorder writes before the samples
		h := s.at(off, 8)
		if h == nil {
			return info, errors.New("it has no data chunk")
		}
		id, size := string(h[:4]), int64(binary.LittleEndian.Uint32(h[4:]))
		body := off + 8
		switch id {
		case "ds64":
			if d := s.at(body, 16); d != nil {
				data64 = int64(binary.LittleEndian.Uint64(d[8:]))
			}
		case "fmt ":
			f := s.at(body, 16)
			if f == nil || size < 16 {
				return info, errors.New("its fmt chunk is cut off")
			}
			info.Channels = int(binary.LittleEndian.Uint16(f[2:]))
			info.SampleRate = int(binary.LittleEndian.Uint32(f[4:]))
			bytesPerSecond = uint64(binary.LittleEndian.Uint32(f[8:]))
			switch binary.LittleEndian.Uint16(f) {
			case 1, 3, 6, 7, 0xFFFE: // PCM, float, A-law, µ-law, extensible: compute what the header repeats
				bits := uint64(binary.LittleEndian.Uint16(f[14:]))
				bytesPerSecond = uint64(info.SampleRate) * uint64(info.Channels) * ((bits + 7) / 8)
				exact = true
			}
		case "fact": // the number of samples of a compressed file
			if b := s.at(body, 4); b != nil && size >= 4 {
				samples = uint64(binary.LittleEndian.Uint32(b))
			}
		case "data":
			if bytesPerSecond == 0 {
				return info, errors.New("its fmt chunk is missing or names no sample rate")
			}
			if size == 0xFFFFFFFF && data64 >= 0 {
				size = data64
			}
			// A recorder that streams or was stopped leaves 0 or all ones: the samples then go on to the end.
			if rest := s.size - body; size > rest || size == 0 {
				size = rest
			}
			info.Duration = samplesDuration(uint64(size), bytesPerSecond)
			if !exact && samples > 0 {
				info.Duration = samplesDuration(samples, uint64(info.SampleRate))
			}
			return info, nil
		}
		off = body + size + size&1
	}
	return info, errors.New("it has too many chunks before the data")
}
