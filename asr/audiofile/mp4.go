package audiofile

import (
	"encoding/binary"
	"math/bits"
)

// movie is what is known of an ISO base media file (ISO 14496-12).
type movie struct {
	timescale, duration uint64
	tracks              []*track
}

type track struct {
	id                  uint32
	sound               bool
	timescale, duration uint64
	defaultDuration     uint64 // of a sample in all fragments
	sampleDuration      uint64 // of a sample in the current fragment
	fragments           uint64 // duration of all fragments
}

// mp4 takes the duration of the first sound track: from its header, else from its fragments.
func (s *scanner) mp4() Info {
	var m movie
	s.boxes(0, s.size, 0, &m, &track{})
	var info Info
	for _, t := range m.tracks {
		if !t.sound {
			continue
		}
		info.Duration = samplesDuration(max(t.duration, t.fragments), t.timescale)
		if info.Duration > 0 {
			return info
		}
	}
	if len(m.tracks) == 1 {
		info.Duration = samplesDuration(m.duration, m.timescale)
	}
	return info
}

const (
	maxDepth  = 4   // of the boxes that are read: moov, trak, mdia, mdhd
	maxTracks = 100 // further tracks are ignored
)

// boxes reads the boxes between off and end. t is the track that they belong to.
func (s *scanner) boxes(off, end int64, depth int, m *movie, t *track) {
	for depth < maxDepth && off+8 <= end {
		h := s.at(off, 8)
		if h == nil {
			return
		}
		size, kind, body := int64(binary.BigEndian.Uint32(h)), string(h[4:8]), off+8
		switch size {
		case 0: // to the end
			size = end - off
		case 1:
			size, body = int64(s.uint(body, 8)), body+8
		}
		if size < body-off || size > end-off {
			if kind != "mdat" && kind != "moov" { // these may be cut off
				return
			}
			size = end - off
		}
		off += size
		switch kind {
		case "moov", "mdia", "mvex", "moof":
			s.boxes(body, off, depth+1, m, t)
		case "trak":
			if len(m.tracks) < maxTracks {
				t := &track{}
				m.tracks = append(m.tracks, t)
				s.boxes(body, off, depth+1, m, t)
			}
		case "traf":
			s.boxes(body, off, depth+1, m, &track{})
		case "mvhd":
			m.timescale, m.duration = s.timing(body)
		case "mdhd":
			t.timescale, t.duration = s.timing(body)
		case "tkhd":
			t.id = uint32(s.uint(body+12+8*int64(s.uint(body, 1)), 4)) // after two times of 4 or 8 bytes
		case "hdlr":
			t.sound = t.sound || string(s.at(body+8, 4)) == "soun"
		case "trex":
			m.track(s.uint(body+4, 4)).defaultDuration = s.uint(body+12, 4)
		case "tfhd":
			t = m.track(s.uint(body+4, 4))
			t.sampleDuration = t.defaultDuration
			if flags := s.uint(body, 4); flags&8 != 0 { // after the optional fields 1, of 8 bytes, and 2
				t.sampleDuration = s.uint(body+8+8*int64(flags&1)+4*int64(flags>>1&1), 4)
			}
		case "trun":
			t.fragments += s.run(body, off, t.sampleDuration)
		}
	}
}

// track returns the track with an identifier, or a new one that is not part of the movie.
func (m *movie) track(id uint64) *track {
	for _, t := range m.tracks {
		if uint64(t.id) == id {
			return t
		}
	}
	return &track{}
}

// timing returns the timescale and the duration in an mvhd or mdhd box. They are preceded by two
// times, which are of 8 bytes in version 1, like the duration. All ones means unknown.
func (s *scanner) timing(body int64) (timescale, duration uint64) {
	size := 4
	if s.uint(body, 1) == 1 {
		size = 8
	}
	after := body + 4 + 2*int64(size)
	timescale, duration = s.uint(after, 4), s.uint(after+4, size)
	if duration == 1<<(8*size)-1 {
		duration = 0
	}
	return timescale, duration
}

// run returns the duration of the samples in a trun box.
func (s *scanner) run(body, end int64, sampleDuration uint64) uint64 {
	flags, count := s.uint(body, 4), s.uint(body+4, 4)
	if flags&0x100 == 0 {
		return count * sampleDuration
	}
	off := body + 8 + 4*int64(flags&1) + 4*int64(flags>>2&1)
	stride := int64(4 * bits.OnesCount64(flags&0xF00))
	var sum uint64
	for ; count > 0 && off+stride <= end && s.err == nil; count-- {
		sum += s.uint(off, 4)
		off += stride
	}
	return sum
}
