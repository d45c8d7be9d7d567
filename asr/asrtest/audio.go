package asrtest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"lessonkit.example/asr/audiofile"
)

// WAV returns a recording of a quiet tone: 16 kHz, one channel.
func WAV(d time.Duration) []byte {
	pcm := audiofile.PCM{Rate: 16000, Channels: 1}
	samples := Samples(d)
	return append(pcm.Header(int64(len(samples))), samples...)
}

// Samples returns what WAV returns, without the header.
func Samples(d time.Duration) []byte {
	n := int(d.Seconds() * 16000)
	b := make([]byte, 0, 2*n)
	for i := range n {
		v := int16(3000 * math.Sin(float64(i)*2*math.Pi*440/16000))
		b = append(b, byte(v), byte(v>>8))
	}
	return b
}

// Damaged returns bytes that begin like a recording and cannot be decoded. Fakes recognise them by
// the word "damaged".
func Damaged() []byte {
	return append([]byte("RIFF\xff\xff\xff\x00WAVEfmt \x00\x01 damaged"), bytes.Repeat([]byte{0xA5}, 100)...)
}

// Heard returns the text that fakes return for a recording.
func Heard(audio []byte) string {
	sum := sha256.Sum256(audio)
	return fmt.Sprintf("heard %d bytes %x.", len(audio), sum[:4])
}

// isDamaged reports whether a recording is what Damaged returns.
func isDamaged(audio []byte) bool { return bytes.Contains(audio, []byte("damaged")) }
