package audiofile

import "encoding/binary"

// boxes calls f with the type and the content of each box between start and end of an ISO base media file (ISO 14496-12), until f returns false.
func (s *scanner) boxes(start, end int64, f func(kind string, body, end int64) bool) {
	for off := start; off+8 <= end; {
		h := s.at(off, 8)
		if h == nil {
			return
		}
		size, body := int64(binary.BigEndian.Uint32(h)), off+8
		kind := string(h[4:8])
		switch size {
		case 0: // to the end
			size = end - off
		case 1:
			l := s.at(body, 8)
			if l == nil || l[0]&0x80 != 0 {
				return
			}
			size, body = int64(binary.BigEndian.Uint64(l)), body+8
		}
		if size < body-off || size > end-off {
			if kind != "mdat" && kind != "moov" { // these may be cut off
				return
			}
			size = end - off
		}
		if !f(kind, body, off+size) {
			return
		}
		off += size
	}
}

// track is what is known of a track.
type track struct {
	id            uint32
	sound         bool
	timescale     uint64
	duration      uint64
	rate          int
	defaultLength uint64 // of a sample in fragments
	fragments     uint64 // sum of the samples' lengths in fragments
}

// mp4 takes the duration of the first sound track: from its header, else from the fragments that follow.
func (s *scanner) mp4() Info {
	var tracks []*track
	var movieScale, movieLength uint64
	byID := func(id uint32) *track {
		for _, t := range tracks {
			if t.id == id {
				return t
			}
		}
		return &track{} // one that nobody asks for
	}
	s.boxes(0, s.size, func(kind string, body, end int64) bool {
		switch kind {
		case "moov":
			s.boxes(body, end, func(kind string, body, end int64) bool {
				switch kind {
				case "mvhd":
					movieScale, movieLength = s.timing(body, 12)
				case "trak":
					tracks = append(tracks, s.track(body, end))
				case "mvex":
					s.boxes(body, end, func(kind string, body, _ int64) bool {
						if b := s.at(body, 24); kind == "trex" && b != nil {
							byID(binary.BigEndian.Uint32(b[4:])).defaultLength = uint64(binary.BigEndian.Uint32(b[12:]))
						}
						return true
					})
				}
				return true
			})
		case "moof":
			s.boxes(body, end, func(kind string, body, end int64) bool {
				if kind == "traf" {
					s.fragment(body, end, byID)
				}
				return true
			})
		}
		return s.err == nil
	})
	var info Info
	for _, t := range tracks {
		if !t.sound {
			continue
		}
		info.SampleRate = t.rate
		length := max(t.duration, t.fragments)
		if info.Duration = samplesDuration(length, t.timescale); info.Duration > 0 {
			return info
		}
	}
	if len(tracks) == 1 {
		info.Duration = samplesDuration(movieLength, movieScale)
	}
	return info
}

// timing reads timescale and duration of an mvhd or mdhd box, whose two times before them are of 4 or 8 bytes.
func (s *scanner) timing(body, at int64) (scale, length uint64) {
	v := s.at(body, 1)
	if v == nil {
		return 0, 0
	}
	if v[0] == 1 {
		if b := s.at(body+at+8, 12); b != nil {
			if length = binary.BigEndian.Uint64(b[4:]); length == 1<<64-1 {
				length = 0
			}
			return uint64(binary.BigEndian.Uint32(b)), length
		}
		return 0, 0
	}
	if b := s.at(body+at, 8); b != nil {
		if length = uint64(binary.BigEndian.Uint32(b[4:])); length == 1<<32-1 {
			length = 0
		}
		return uint64(binary.BigEndian.Uint32(b)), length
	}
	return 0, 0
}

// track reads a trak box.
func (s *scanner) track(body, end int64) *track {
	t := &track{}
	var walk func(kind string, body, end int64) bool
	walk = func(kind string, body, end int64) bool {
		switch kind {
		case "tkhd":
			at := body + 12
			if v := s.at(body, 1); v != nil && v[0] == 1 {
				at = body + 20
			}
			if b := s.at(at, 4); b != nil {
				t.id = binary.BigEndian.Uint32(b)
			}
		case "mdia", "minf", "stbl":
			s.boxes(body, end, walk)
		case "mdhd":
			t.timescale, t.duration = s.timing(body, 12)
		case "hdlr":
			b := s.at(body+8, 4)
			t.sound = t.sound || string(b) == "soun"
		case "stsd": // its number of channels is 2 whatever the truth, in most files
			if b := s.at(body+8, 36); b != nil {
				t.rate = int(binary.BigEndian.Uint16(b[32:]))
			}
		}
		return true
	}
	s.boxes(body, end, walk)
	if !t.sound {
		t.rate = 0
	}
	return t
}

// fragment adds the samples of a traf box to its track.
func (s *scanner) fragment(body, end int64, byID func(uint32) *track) {
	t := &track{}
	var each uint64
	s.boxes(body, end, func(kind string, body, end int64) bool {
		h := s.at(body, 8)
		if h == nil {
			return false
		}
		flags := binary.BigEndian.Uint32(h) & 0xFFFFFF
		second := binary.BigEndian.Uint32(h[4:])
		switch kind {
		case "tfhd":
			t = byID(second)
			each = t.defaultLength
			at := body + 8
			for _, field := range []struct {
				flag uint32
				size int64
			}{{1, 8}, {2, 4}} {
				if flags&field.flag != 0 {
					at += field.size
				}
			}
			if b := s.at(at, 4); flags&8 != 0 && b != nil {
				each = uint64(binary.BigEndian.Uint32(b))
			}
		case "trun":
			t.fragments += s.run(body+8, end, flags, second, each)
		}
		return true
	})
}

// run adds up the lengths of the samples of a trun box.
func (s *scanner) run(at, end int64, flags, count uint32, each uint64) uint64 {
	if flags&0x100 == 0 {
		return uint64(count) * each
	}
	for _, flag := range []uint32{1, 4} {
		if flags&flag != 0 {
			at += 4
		}
	}
	stride := int64(0)
	for _, flag := range []uint32{0x100, 0x200, 0x400, 0x800} {
		if flags&flag != 0 {
			stride += 4
		}
	}
	var sum uint64
	for range count {
		b := s.at(at, 4)
		if b == nil || at+stride > end {
			break
		}
		sum += uint64(binary.BigEndian.Uint32(b))
		at += stride
	}
	return sum
}
