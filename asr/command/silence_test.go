package command_test

import (
	"time"

	"lessonkit.example/asr/audiofile"
)

// wavOf is silence at 8 kHz.
func wavOf(d time.Duration) []byte {
	pcm := audiofile.PCM{Rate: 8000, Channels: 1}
	size := int64(d.Seconds() * 8000 * 2)
	return append(pcm.Header(size), make([]byte, size)...)
}
