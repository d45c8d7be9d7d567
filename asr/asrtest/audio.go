package asrtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"
	"time"

	"lessonkit.example/asr"
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

// Endless returns a recording of size bytes that takes no memory: a WAV header and silence. Its
// readers are not io.ReaderAts.
func Endless(size int64) asr.Audio {
	head := audiofile.PCM{Rate: 16000, Channels: 1}.Header(size - audiofile.HeaderSize)
	return asr.Audio{Name: "endless.wav", Size: size, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(io.MultiReader(bytes.NewReader(head), zeros{}), size)), nil
	}}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Heard returns the text that fakes return for a recording.
func Heard(audio []byte) string {
	l := newListener()
	_, _ = l.Write(audio)
	return l.text()
}

// listener computes the text while a recording is written to it.
type listener struct {
	sum  hash.Hash
	size int64
	head []byte
}

func newListener() *listener { return &listener{sum: sha256.New()} }

func (l *listener) Write(p []byte) (int, error) {
	if room := audiofile.HeadSize - len(l.head); room > 0 {
		l.head = append(l.head, p[:min(room, len(p))]...)
	}
	l.size += int64(len(p))
	return l.sum.Write(p)
}

func (l *listener) damaged() bool { return bytes.Contains(l.head, []byte("damaged")) }

func (l *listener) text() string {
	return fmt.Sprintf("heard %d bytes %s.", l.size, hex.EncodeToString(l.sum.Sum(nil)[:4]))
}
