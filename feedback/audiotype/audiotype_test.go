package audiotype_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiotype"
)

func Example() {
	t, ok := audiotype.Detect([]byte("#!AMR\n\x04"))
	fmt.Println(t.ContentType, t.Extension, ok)
	_, ok = audiotype.Detect([]byte("<!doctype html>"))
	fmt.Println(ok)
	// Output:
	// audio/amr .amr true
	// false
}

// TestDetect uses the first bytes that real encoders write.
func TestDetect(t *testing.T) {
	t.Parallel()
	mp4 := func(brand string) string { return "\x00\x00\x00\x1cftyp" + brand + "\x00\x00\x02\x00isomiso2" }
	for name, c := range map[string]struct{ head, want string }{
		"mp3 without":         {"\xff\xfb\x90\xc4\x00\x00", "audio/mpeg"},
		"mp3 at 16 kHz":       {"\xff\xf3\x48\xc4\x00\x00", "audio/mpeg"},
		"mp4":                 {mp4("isom"), "audio/mp4"},
		"mp4 of an iPhone":    {mp4("mp42"), "audio/mp4"},
		"amr":                 {"#!AMR\n\x3c", "audio/amr"},
		"wideband amr":        {"#!AMR-WB\n\x44", "audio/amr"},
		"amr, two channels":   {"#!AMR_MC1.0\n\x00\x00\x00\x02\x3c", "audio/amr"},
		"wideband, two":       {"#!AMR-WB_MC1.0\n\x00\x00\x00\x02\x44", "audio/amr"},
		"3gp of CDMA phones":  {mp4("3g2a"), "audio/mp4"},
		"wav over 4 GiB":      {"RF64\xff\xff\xff\xffWAVEds64\x1c\x00\x00\x00", "audio/wav"},
		"another rf64":        {"RF64\xff\xff\xff\xffAVI ds64", ""},
		"a cut rf64":          {"RF64", ""},
		"m4v":                 {mp4("M4V "), "video/quicktime"},
		"mov of old":          {"\x00\x00\x00\x08wide\x00\x00\x10\x00mdat", "video/quicktime"},
		"compressed aiff":     {"FORM\x00\x00\x10\x00AIFCFVER", "audio/aiff"},
		"silk":                {"#!SILK_V3\x14\x00", "audio/silk"},
		"silk of a messenger": {"\x02#!SILK_V3\x14\x00", "audio/silk"},
		"a page":              {"<!doctype html><html>", ""},
		"a picture":           {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ""},
		"another form":        {"FORM\x00\x00\x10\x00ILBM", ""},
		"another riff":        {"RIFF\x24\x00\x00\x00AVI LIST", ""},
		"nothing":             {"", ""},
	} {
		got, ok := audiotype.Detect([]byte(c.head))
		require.Equal(t, c.want, got.ContentType, name)
		require.Equal(t, c.want != "", ok, name)
		if ok {
			require.Regexp(t, `^\.[a-z0-9]+$`, got.Extension, name)
		}
	}
}

// TestDetectFiles uses a tone that ffmpeg has encoded.
func TestDetectFiles(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"tone.mp3": "audio/mpeg", "tone.aac": "audio/aac", "tone.m4a": "audio/mp4", "tone.3gp": "audio/mp4",
		"tone.wav": "audio/wav", "tone.ogg": "audio/ogg", "tone.webm": "audio/webm", "tone.flac": "audio/flac",
		"tone.mov": "video/quicktime", "tone.mka": "audio/x-matroska", "tone.caf": "audio/x-caf",
		"tone.aiff": "audio/aiff",
	} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		got, ok := audiotype.Detect(b[:min(len(b), audiotype.HeadSize)])
		require.True(t, ok, file)
		require.Equal(t, want, got.ContentType, file)
	}
}

// Types that few transcribers decode are accepted if they are converted; otherwise the teacher
// reads what to change.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head string
		says string // what is to be changed; "" for a type that is accepted
	}{
		"amr":  {"#!AMR\n\x3c", ""},
		"mov":  {"\x00\x00\x00\x14ftypqt  ", "set its format to m4a or mp3"},
		"mka":  {"\x1a\x45\xdf\xa3\xa3\x42\x82\x88matroska", "set the format of the recorder to m4a, mp3 or ogg"},
		"caf":  {"caff\x00\x01\x00\x00desc", "Voice Memos"},
		"aiff": {"FORM\x00\x00\x10\x00AIFFCOMM", "set the format of the recorder to m4a, mp3 or wav"},
	} {
		got, ok := audiotype.Detect([]byte(c.head))
		require.True(t, ok, name)
		require.NoError(t, got.Check(true), name)
		if c.says == "" {
			require.NoError(t, got.Check(false), name)
		} else {
			require.ErrorContains(t, got.Check(false), c.says, name)
		}
	}
	for _, converted := range []bool{false, true} {
		silk, _ := audiotype.Detect([]byte("\x02#!SILK_V3\x14\x00"))
		require.ErrorIs(t, silk.Check(converted), feedback.ErrAudioType)
		require.ErrorContains(t, silk.Check(converted), "SILK, a messenger's voice message", "ffmpeg has no decoder")
		require.ErrorContains(t, audiotype.Type{}.Check(converted), "not audio of a supported type: mp3")
	}
}

// Samples may have the value of a frame's first bytes.
func TestDetectInSamples(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"\xff\xfb\x90\x64":                          "",
		"\xff\xf1\x50\x40\x25\x9f\xfc":              "",
		"ID3\x04\x00\x00\x00\x00\x00\x23TSSE":       "audio/mpeg",
		string(audiotype.WAVHeader(3000, 16000, 1)): "audio/wav",
		"\x01\x00\xfa\xff\x07\x00":                  "",
	} {
		got, ok := audiotype.DetectInSamples([]byte(head))
		require.Equal(t, want, got.ContentType, "%q", head)
		require.Equal(t, want != "", ok, "%q", head)
	}
}

func TestWAVHeader(t *testing.T) {
	t.Parallel()
	require.Equal(t, "RIFF\x64\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00\x80\x3e\x00\x00\x00\xfa\x00\x00"+
		"\x04\x00\x10\x00data\x40\x00\x00\x00", string(audiotype.WAVHeader(64, 16_000, 2)))
	for size, want := range map[int64]uint32{
		-1: 0, math.MaxUint32: math.MaxUint32 - audiotype.HeaderSize,
		5 << 30: math.MaxUint32 - audiotype.HeaderSize,
	} {
		h := audiotype.WAVHeader(size, 16_000, 1)
		require.Equal(t, want, binary.LittleEndian.Uint32(h[40:]), size)
		require.Equal(t, want+audiotype.HeaderSize-8, binary.LittleEndian.Uint32(h[4:]), size)
	}
}

// FuzzDetect checks that no content makes the detection panic, and that any WAV header is detected.
func FuzzDetect(f *testing.F) {
	f.Add([]byte("ID3"), 16000, 1)
	f.Fuzz(func(t *testing.T, head []byte, rate, channels int) {
		audiotype.Detect(head)
		audiotype.DetectInSamples(head)
		wav := append(audiotype.WAVHeader(int64(len(head)), rate, channels), head...)
		require.Len(t, wav, audiotype.HeaderSize+len(head))
		got, ok := audiotype.Detect(wav)
		require.True(t, ok)
		require.Equal(t, audiotype.WAV(), got)
	})
}
