package provider_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/provider"
)

// sequential returns the recording with readers that can only be read from start to end.
func sequential(a asr.Audio) asr.Audio {
	open := a.Open
	a.Open = func() (io.ReadCloser, error) {
		rc, err := open()
		return struct{ io.ReadCloser }{rc}, err
	}
	return a
}

func TestReadsTheWholeRecordingFromAnyReader(t *testing.T) {
	t.Parallel()
	wav := asrtest.WAV(2 * time.Second)
	samples := asr.FromBytes("raw", asrtest.Samples(2*time.Second))
	samples.ContentType = "audio/pcm;rate=16000"
	for name, audio := range map[string]asr.Audio{
		"file":               asr.FromBytes("lesson.wav", wav),
		"sequential file":    sequential(asr.FromBytes("lesson.wav", wav)),
		"samples":            samples,
		"sequential samples": sequential(samples),
	} {
		src, err := provider.Open("test", audio)
		require.NoError(t, err, name)
		got, err := io.ReadAll(src)
		require.NoError(t, err, name)
		require.Equal(t, wav, got, name)
		require.EqualValues(t, len(wav), src.Size, name)
		require.NoError(t, src.Close())
		require.NoError(t, src.Close())
	}
}

func TestHeaderOfAStoppedRecorderIsCorrected(t *testing.T) {
	t.Parallel()
	wav := asrtest.WAV(2 * time.Second)
	// Core Audio fills up to 4096 bytes before the sound.
	apple := slices.Concat(wav[:36], []byte("FLLR\xcc\x0f\x00\x00"), make([]byte, 4044), wav[36:])
	binary.LittleEndian.PutUint32(apple[4:], uint32(len(apple)-8))
	for _, whole := range [][]byte{wav, apple} {
		for _, size := range []uint32{0, 4096, 1 << 31} {
			stopped := slices.Clone(whole)
			binary.LittleEndian.PutUint32(stopped[len(whole)-64000-4:], size)
			src, err := provider.Open("test", asr.FromBytes("lesson.wav", stopped))
			require.NoError(t, err)
			require.Equal(t, 2*time.Second, src.Info.Duration)
			got, err := io.ReadAll(src)
			require.NoError(t, err)
			require.True(t, bytes.Equal(whole, got), "%d of %d bytes", size, len(whole))
			require.NoError(t, src.Close())
		}
	}
}

// closer counts the calls of Close.
type closer struct {
	io.Reader
	closed int
}

func (c *closer) Close() error { c.closed++; return nil }

func TestReaderIsClosedWhenOpenFails(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]io.Reader{
		"error": iotest.ErrReader(errors.New("bad sector")), "not audio": strings.NewReader("dear diary"),
	} {
		rc := &closer{Reader: r}
		audio := asr.Audio{Size: 10, Open: func() (io.ReadCloser, error) { return rc, nil }}
		_, err := provider.Open("test", audio)
		require.Error(t, err, name)
		require.Equal(t, 1, rc.closed, name)
	}
}

func TestDurationComesFromTheBytesBeforeTheDeclaration(t *testing.T) {
	t.Parallel()
	samples := asr.FromBytes("raw", asrtest.Samples(2*time.Second))
	samples.ContentType = "audio/pcm;rate=16000"
	wav := asr.FromBytes("lesson.wav", asrtest.WAV(2*time.Second))
	wav.ContentType = "audio/pcm;rate=8000"
	for name, audio := range map[string]asr.Audio{
		"samples": samples, "sequential samples": sequential(samples), "wav": wav,
	} {
		src, err := provider.Open("test", audio)
		require.NoError(t, err, name)
		require.Equal(t, 2*time.Second, src.Info.Duration, name)
		require.NoError(t, src.Close())
	}
}

func TestEchoOfThePromptIsNotText(t *testing.T) {
	t.Parallel()
	words := []string{"小明", "Siobhan Murphy"}
	prompt := provider.Prompt(asr.Audio{Language: "zh", Words: words})
	said := asr.Transcript{
		Text: "以下是普通话的句子，小明练得很好",
		Segments: []asr.Segment{
			{Text: "以下是普通话的句子，", End: time.Second}, {Text: "小明练得很好", Start: time.Second, End: 2 * time.Second},
		},
		Words: []asr.Word{{Text: "普通话", End: time.Second}, {Text: "小明", Start: time.Second, End: 2 * time.Second}},
	}
	got := provider.DropEcho(said, prompt, words)
	require.Equal(t, asr.Transcript{Text: "小明练得很好", Segments: said.Segments[1:], Words: said.Words[1:]}, got)
	whole := asr.Transcript{Text: "以下是普通话的句子，有标点。", Words: said.Words}
	require.Empty(t, provider.DropEcho(whole, prompt, words))
}

func TestNameOfThePromptMayHaveBeenSaid(t *testing.T) {
	t.Parallel()
	words := []string{"Siobhan Murphy", "Für Elise (short)", "Robert Downey Jr."}
	for _, language := range []string{"en", "zh", "de"} {
		prompt := provider.Prompt(asr.Audio{Language: language, Words: words})
		for _, name := range words {
			for _, text := range []string{name, name + "。", strings.TrimRight(name, ".)")} {
				got := provider.DropEcho(asr.Transcript{Text: text}, prompt, words)
				require.Equal(t, text, got.Text)
				if language == "de" { // nothing in the prompt tells what a list is
					continue
				}
				got = provider.DropEcho(asr.Transcript{Text: text}, prompt, nil)
				require.Equal(t, text, got.Text, "a client of a server sends the prompt alone")
			}
		}
		for _, echo := range []string{prompt, "These are notes about a lesson", "以下是普通话的句子，"} {
			if strings.Contains(prompt, echo) {
				require.Empty(t, provider.DropEcho(asr.Transcript{Text: echo}, prompt, nil).Text)
			}
		}
	}
}

func TestWordsOfAnEchoAreDroppedWithIt(t *testing.T) {
	t.Parallel()
	const prompt = "once upon a time"
	word := func(text string, start, end time.Duration) asr.Word {
		return asr.Word{Text: text, Start: start, End: end}
	}
	echo := asr.Segment{Text: prompt, Start: 2, End: 6}
	for name, c := range map[string]struct {
		segments    []asr.Segment
		words, want []asr.Word
	}{
		"all, if nothing else is left": {[]asr.Segment{echo}, []asr.Word{word("once", 0, 0), word("time", 5, 7)}, nil},
		"none of a segment that overlaps": {
			[]asr.Segment{echo, {Text: "well", Start: 5, End: 8}},
			[]asr.Word{word("once", 2, 3), word("well", 5, 8)}, []asr.Word{word("well", 5, 8)},
		},
		"those of each of several": {
			[]asr.Segment{
				{Text: prompt, End: 2}, echo, {Text: "well", Start: 6, End: 8}, {Text: prompt, Start: 8, End: 9},
			},
			[]asr.Word{word("once", 0, 1), word("upon", 3, 4), word("well", 6, 8), word("time", 8, 9)},
			[]asr.Word{word("well", 6, 8)},
		},
	} {
		before := slices.Clone(c.words)
		got := provider.DropEcho(asr.Transcript{Segments: c.segments, Words: c.words}, prompt, nil)
		require.Equal(t, c.want, got.Words, name)
		require.Equal(t, before, c.words, name)
	}
}

func TestPromptIsMadeOfTheFirstWords(t *testing.T) {
	t.Parallel()
	require.Empty(t, provider.Prompt(asr.Audio{}))
	for _, c := range []struct{ language, prompt, want string }{
		{"", "", "Siobhan, 小明."},
		{"", "given", "given. Siobhan, 小明."},
		{"zh-CN", "", "以下是普通话的句子，有标点。其中提到：Siobhan、小明。"},
		{"zh-TW", "", "以下是國語的句子，有標點。其中提到：Siobhan、小明。"},
		{"zh", "钢琴课", "钢琴课。其中提到：Siobhan、小明。"},
		{"en", "", "These are notes about a lesson, with commas and full stops. It mentions Siobhan, 小明."},
		{"en", "A lesson!", "A lesson! It mentions Siobhan, 小明."},
	} {
		got := provider.Prompt(asr.Audio{Words: []string{"Siobhan", "小明"}, Language: c.language, Prompt: c.prompt})
		require.Equal(t, c.want, got)
	}
	require.Equal(t, "given", provider.Prompt(asr.Audio{Prompt: "given", Language: "zh"}))
	require.Equal(t, "以下是普通话的句子，有标点。", provider.Prompt(asr.Audio{Language: "zh"}))
	var words []string
	for i := range 200 {
		words = append(words, fmt.Sprintf("Word %03d", i))
	}
	prompt := provider.Prompt(asr.Audio{Words: words})
	require.True(t, strings.HasPrefix(prompt, "Word 000, Word 001"))
	require.True(t, strings.HasSuffix(prompt, ", Word 059."), prompt)
}

func TestPrimaryLanguage(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"zh-CN": "zh", "en_US": "en", " ZH": "zh", "yue-HK": "yue", "": "", "-x": "", "e": "", "-o/etc/passwd": "",
	} {
		require.Equal(t, want, provider.PrimaryLanguage(tag), tag)
	}
}
