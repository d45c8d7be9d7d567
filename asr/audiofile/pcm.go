package audiofile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"mime"
	"strconv"
	"time"
)

// PCM describes raw little-endian samples of 16 bits, which have no header.
type PCM struct {
	// Rate is in samples per second and channel.
	Rate int
	// Channels is the number of channels, which are interleaved.
	Channels int
}

// ParsePCM parses a media type of raw samples, "audio/pcm", "audio/x-pcm" or "audio/raw", with the
// parameters rate, which is required, and channels, which defaults to 1. ok reports whether
// contentType is one of these, and err what is wrong with its parameters.
func ParsePCM(contentType string) (p PCM, ok bool, err error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return PCM{}, false, nil
	}
	switch media {
	case "audio/pcm", "audio/x-pcm", "audio/raw":
	default:
		return PCM{}, false, nil
	}
	if p.Rate, err = strconv.Atoi(params["rate"]); err != nil || p.Rate < 4000 || p.Rate > 384000 {
		return PCM{}, true, fmt.Errorf("%s: parameter rate=%q must be a number from 4000 to 384000, "+
			"as in %s;rate=16000", media, params["rate"], media)
	}
	channels := cmp.Or(params["channels"], "1")
	if p.Channels, err = strconv.Atoi(channels); err != nil || p.Channels < 1 || p.Channels > 16 {
		return PCM{}, true, fmt.Errorf("%s: parameter channels=%q must be a number from 1 to 16", media, channels)
	}
	if b := params["bits"]; b != "" && b != "16" {
		return PCM{}, true, fmt.Errorf("%s: parameter bits=%q must be 16", media, b)
	}
	return p, true, nil
}

// Duration returns the duration of size bytes of samples.
func (p PCM) Duration(size int64) time.Duration {
	return samplesDuration(uint64(max(size, 0))/uint64(2*max(p.Channels, 1)), uint64(p.Rate))
}

// HeaderSize is the length of the header that Header returns.
const HeaderSize = 44

// Header returns the WAV header for size bytes of samples.
func (p PCM) Header(size int64) []byte {
	n := uint32(min(max(size, 0), math.MaxUint32-HeaderSize))
	h := make([]byte, 0, HeaderSize)
	h = append(h, "RIFF"...)
	h = binary.LittleEndian.AppendUint32(h, n+HeaderSize-8)
	h = append(h, "WAVEfmt "...)
	h = binary.LittleEndian.AppendUint32(h, 16)
	h = binary.LittleEndian.AppendUint16(h, 1) // PCM
	h = binary.LittleEndian.AppendUint16(h, uint16(p.Channels))
	h = binary.LittleEndian.AppendUint32(h, uint32(p.Rate))
	h = binary.LittleEndian.AppendUint32(h, uint32(p.Rate*p.Channels*2))
	h = binary.LittleEndian.AppendUint16(h, uint16(p.Channels*2))
	h = binary.LittleEndian.AppendUint16(h, 16)
	h = append(h, "data"...)
	return binary.LittleEndian.AppendUint32(h, n)
}

// samplesDuration returns samples/rate without intermediate overflow or rounding; 0 if it is not
// plausible.
func samplesDuration(samples, rate uint64) time.Duration {
	if rate == 0 || samples/rate > 1<<32 {
		return 0
	}
	whole := time.Duration(samples/rate) * time.Second
	return whole + time.Duration(samples%rate*uint64(time.Second)/rate)
}
