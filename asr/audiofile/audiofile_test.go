package audiofile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/audiofile"
)

func TestInspectReadsEveryContainer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file   string
		format audiofile.Format
		codec  string
		within time.Duration
	}{
		{"mono.wav", audiofile.WAV, "", 0},
		{"stereo.wav", audiofile.WAV, "", 0},
		{"adpcm.wav", audiofile.WAV, "", 100 * time.Millisecond},
		{"constant.mp3", audiofile.MP3, "", 120 * time.Millisecond},
		{"variable.mp3", audiofile.MP3, "", 80 * time.Millisecond},
		{"bare.mp3", audiofile.MP3, "", 220 * time.Millisecond},
		{"adts.aac", audiofile.AAC, "", 80 * time.Millisecond},
		{"plain.m4a", audiofile.M4A, "", 130 * time.Millisecond},
		{"fragmented.mp4", audiofile.M4A, "", 130 * time.Millisecond},
		{"mobile.3gp", audiofile.M4A, "", 130 * time.Millisecond},
		{"quicktime.mov", audiofile.M4A, "", 0},
		{"opus.ogg", audiofile.OGG, "opus", time.Millisecond},
		{"vorbis.ogg", audiofile.OGG, "vorbis", 30 * time.Millisecond},
		{"speex.ogg", audiofile.OGG, "speex", 60 * time.Millisecond},
		{"flac.oga", audiofile.OGG, "flac", 0},
		{"native.flac", audiofile.FLAC, "", 0},
		{"opus.webm", audiofile.WebM, "", 30 * time.Millisecond},
		{"live.webm", audiofile.WebM, "", 60 * time.Millisecond},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata", c.file))
			require.NoError(t, err)
			info, err := audiofile.Inspect(bytes.NewReader(data), int64(len(data)))
			require.NoError(t, err)
			require.Equal(t, c.format, info.Format)
			require.Equal(t, c.codec, info.Codec)
			require.InDelta(t, 3, info.Duration.Seconds(), c.within.Seconds())

			half := int64(len(data) / 2)
			cut, err := audiofile.Inspect(bytes.NewReader(data[:half]), half)
			require.NoError(t, err, "a file that is cut off is not an error")
			require.Equal(t, c.format, cut.Format)
			require.LessOrEqual(t, cut.Duration, info.Duration)
			require.Zero(t, info.Header)
		})
	}
}

// tagged returns a WAV file with tags right after its sound, of which the header tells the size.
func tagged(sound, size int) []byte {
	b := append(audiofile.PCM{Rate: 8000, Channels: 1}.Header(int64(size)), make([]byte, sound)...)
	return append(append(b, "LIST\xa0\x86\x01\x00"...), make([]byte, 100000)...)
}

// TestRecordingShorterThanItsHeader says both durations; one that is longer is heard to its end.
func TestRecordingShorterThanItsHeader(t *testing.T) {
	t.Parallel()
	webm, err := os.ReadFile("testdata/opus.webm")
	require.NoError(t, err)
	at := bytes.Index(webm, []byte{0x44, 0x89, 0x88}) + 3 // of the duration in milliseconds
	binary.BigEndian.PutUint64(webm[at:], math.Float64bits(15000))
	wav := append(audiofile.PCM{Rate: 8000, Channels: 1}.Header(16000*60), make([]byte, 16000*30)...)
	const unknown = "\xff\xff\xff\xff" // as the lengths of 32 bits in RF64
	rf64 := "RF64" + unknown + "WAVEds64\x04\x00\x00\x00" + unknown + string(wav[12:40]) + unknown + string(wav[44:])
	for _, c := range []struct {
		data             []byte
		duration, header time.Duration
	}{
		{webm, 3 * time.Second, 15 * time.Second}, {wav, 30 * time.Second, time.Minute},
		{[]byte(rf64), 30 * time.Second, 0},
		{append(audiofile.PCM{Rate: 8000, Channels: 1}.Header(16000*10), wav[44:]...), 30 * time.Second, 0},
		{tagged(16001, 16001), time.Second, 0}, {tagged(0, 0), 0, 0},
	} {
		info, err := audiofile.Inspect(bytes.NewReader(c.data), int64(len(c.data)))
		require.NoError(t, err)
		require.InDelta(t, c.duration.Seconds(), info.Duration.Seconds(), 0.1)
		require.InDelta(t, c.header.Seconds(), info.Header.Seconds(), 0.1)
	}
	info := audiofile.Info{Duration: time.Minute}
	require.Zero(t, info.Measured(58*time.Second).Header)
	require.Zero(t, info.Measured(61*time.Second).Header)
	require.Equal(t, audiofile.Info{Duration: 31 * time.Second, Header: time.Minute}, info.Measured(31*time.Second))
	info.Format = audiofile.WebM
	require.Zero(t, info.Measured(31*time.Second).Header, "a gap is in the middle, as while a computer sleeps")
}

func TestFormatsOfUnknownDuration(t *testing.T) {
	t.Parallel()
	for data, format := range map[string]audiofile.Format{
		"#!AMR\n\x3c": audiofile.AMR, "#!AMR-WB\n\x44": audiofile.AMR, "\x02#!SILK_V3": audiofile.SILK,
	} {
		info, err := audiofile.Inspect(strings.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		require.Equal(t, audiofile.Info{Format: format}, info)
	}
}

func TestInspectRejectsWhatIsNotAudio(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"empty":         "",
		"text":          "dear diary",
		"html":          "<!DOCTYPE html><html></html>",
		"playlist":      "#EXTM3U\nhttp://127.0.0.1/\n",
		"image":         "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"zip":           "PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"mp3 in name":   "\xff\xfb",
		"mp3 no frame":  "ID3\x04\x00\x00\x00\x00\x00\x00 and then nothing like a frame",
		"wav no data":   string(audiofile.PCM{Rate: 16000, Channels: 1}.Header(0)[:36]),
		"wav no format": "RIFF\xff\xff\xff\x00WAVEdata\x04\x00\x00\x00abcd",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, err := audiofile.Inspect(bytes.NewReader([]byte(data)), int64(len(data)))
			require.ErrorIs(t, err, audiofile.ErrNotAudio, "%+v", info)
		})
	}
}

func TestImplausibleDurationIsIgnored(t *testing.T) {
	t.Parallel()
	// A FLAC header of a few bytes that claims 24 hours.
	b := append([]byte("fLaC\x00\x00\x00\x22"), make([]byte, 34)...)
	binary.BigEndian.PutUint64(b[8+10:], 16000<<44|15<<36|16000*86400)
	info, err := audiofile.Inspect(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	require.Zero(t, info.Duration)
}

func TestStreamedWAVEndsWithTheFile(t *testing.T) {
	t.Parallel()
	pcm := audiofile.PCM{Rate: 16000, Channels: 1}
	for _, size := range []uint32{0, math.MaxUint32, 1 << 30} {
		b := append(pcm.Header(0), make([]byte, 32000)...)
		binary.LittleEndian.PutUint32(b[40:], size)
		info, err := audiofile.Inspect(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		require.Equal(t, time.Second, info.Duration)
	}
}

func TestInspectReturnsErrorsOfTheReader(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk gone")
	_, err := audiofile.Inspect(readerAt(func([]byte, int64) (int, error) { return 0, broken }), 1000)
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, audiofile.ErrNotAudio)

	head := append(audiofile.PCM{Rate: 16000, Channels: 1}.Header(1 << 20)[:36], "junk\xff\xff\x0f\x00"...)
	head = append(head, make([]byte, 8000)...)
	_, err = audiofile.Inspect(readerAt(func(p []byte, off int64) (int, error) {
		if off > 0 {
			return 0, broken
		}
		return copy(p, head), nil
	}), 1<<21)
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, audiofile.ErrNotAudio)
}

type readerAt func([]byte, int64) (int, error)

func (f readerAt) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

func TestParsePCM(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]audiofile.PCM{
		"audio/pcm;rate=16000":             {Rate: 16000, Channels: 1},
		"audio/pcm; rate=8000; channels=2": {Rate: 8000, Channels: 2},
		"audio/x-pcm;rate=44100;bits=16":   {Rate: 44100, Channels: 1},
	} {
		p, ok, err := audiofile.ParsePCM(declared)
		require.NoError(t, err, declared)
		require.True(t, ok)
		require.Equal(t, want, p)
	}
	for declared, says := range map[string]string{
		"audio/pcm":                       `rate="" must be a number from 4000 to 384000, as in audio/pcm;rate=16000`,
		"audio/pcm;rate=x":                `rate="x" must be a number from 4000 to 384000`,
		"audio/pcm;rate=16000;channels=0": "channels",
		"audio/pcm;rate=16000;bits=24":    "bits",
	} {
		_, ok, err := audiofile.ParsePCM(declared)
		require.True(t, ok)
		require.ErrorContains(t, err, says)
	}
	for _, other := range []string{"", "audio/wav", "audio/mpeg", "text/plain", ";;;"} {
		_, ok, err := audiofile.ParsePCM(other)
		require.False(t, ok)
		require.NoError(t, err)
	}
}

// box returns a box of an ISO base media file.
func box(kind string, content ...[]byte) []byte {
	body := bytes.Join(content, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), kind...), body...)
}

// Not parallel: it measures the allocations of the whole process.
func TestMemoryIsBoundedForSmallFilesThatClaimALot(t *testing.T) {
	nested := box("free")
	for range 1000 {
		nested = box("moov", nested)
	}
	ftyp := box("ftyp", []byte("isom\x00\x00\x00\x00isom"))
	samples := box("trun", []byte("\x00\x00\x01\x00\xff\xff\xff\xff\x00\x00\x00\x01"))
	for name, data := range map[string][]byte{
		"four billion samples": append(ftyp, box("moof", box("traf", samples))...),
		"nested boxes":         append(ftyp, nested...),
		"many tracks":          append(ftyp, box("moov", bytes.Repeat(box("trak"), 10000))...),
		"a terabyte in a box":  append(ftyp, "\x00\x00\x00\x01free\x00\x00\x01\x00\x00\x00\x00\x00"...),
		"a terabyte in a block": []byte("\x1aE\xdf\xa3\x87B\x82\x84webm\x18S\x80g\xff" +
			"\x1f\x43\xb6\x75\xff\xa3\x01\x00\x01\x00\x00\x00\x00\x00"),
		"a quarter of a gigabyte of tags": []byte("ID3\x04\x00\x00\x7f\x7f\x7f\x7f"),
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		info, err := audiofile.Inspect(bytes.NewReader(data), int64(len(data)))
		runtime.ReadMemStats(&after)
		if err != nil {
			require.ErrorIs(t, err, audiofile.ErrNotAudio, name)
		}
		require.Zero(t, info.Duration, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<10), name)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add([]byte("\x02#!SILK_V3"))
	f.Add(append(audiofile.PCM{Rate: 16000, Channels: 1}.Header(100), make([]byte, 100)...))
	f.Add([]byte("fLaC\x00\x00\x00\x22" + string(make([]byte, 34))))
	f.Add([]byte("OggS\x00\x02" + string(make([]byte, 20)) +
		"\x01\x13OpusHead\x01\x01\x38\x01\x80\xbb\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00M4A mp42" +
		"\x00\x00\x00\x24moov\x00\x00\x00\x1cmvhd" + string(make([]byte, 20))))
	f.Add([]byte("\x1aE\xdf\xa3\x87B\x82\x84webm\x18S\x80g\xff" +
		"\x1f\x43\xb6\x75\xff\xe7\x81\x05\xa3\x84\x81\x00\x05\x80"))
	f.Add([]byte("\xff\xf1\x60\x40\x01\x00\xfc\xff\xff\xf1\x60\x40\x01\x00\xfc\xff"))
	f.Add(append([]byte("\xff\xfb\x90\x00"), make([]byte, 413)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := audiofile.Inspect(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if !errors.Is(err, audiofile.ErrNotAudio) {
				t.Fatalf("an error about bytes in memory must be about the content: %v", err)
			}
			return
		}
		longest := time.Duration(len(data)) * time.Second
		if info.Format != audiofile.Sniff(data) || info.Duration < 0 || info.Duration > longest {
			t.Fatalf("%d bytes: %+v", len(data), info)
		}
	})
}
