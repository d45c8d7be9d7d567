//go:build linux

package e2e

import (
	"bytes"
	"math/rand/v2"

	"lessonkit.example/feedback/audiotype"
)

// recording is a random WAV file, made again from its seed when it is needed.
type recording struct {
	seed uint64
	size int // of its samples
}

// newRecording returns a short recording; one in ten is long enough to be cut half way.
func newRecording() recording {
	r := recording{seed: rand.Uint64(), size: 2 * (200 + rand.IntN(8_000))}
	if rand.IntN(10) == 0 {
		r.size = 2 * (100_000 + rand.IntN(300_000))
	}
	return r
}

func (r recording) bytes() []byte {
	var seed [32]byte
	for i := range 8 {
		seed[i] = byte(r.seed >> (8 * i))
	}
	audio := bytes.NewBuffer(audiotype.WAVHeader(int64(r.size), 16_000, 1))
	samples := make([]byte, r.size)
	rand.NewChaCha8(seed).Read(samples)
	audio.Write(samples)
	return audio.Bytes()
}
