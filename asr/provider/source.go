package provider

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
)

// Source is an open recording. Reading it returns exactly Size bytes and then io.EOF, or an
// *asr.Error without a class. It is not safe for concurrent use, except for Close.
type Source struct {
	// Size is the number of bytes, including the WAV header that raw samples get.
	Size int64
	// Info is what the bytes of the recording tell, where the reader that Audio.Open returned is an
	// io.ReaderAt. Otherwise it is the format alone, except for raw samples.
	Info audiofile.Info

	op    string
	audio asr.Audio
	file  io.ReadCloser
	body  io.Reader // file, or a WAV header and the samples
	left  int64     // bytes of body not yet read
	close func() error
}

// Open opens the recording and determines its format. Errors are of type *asr.Error: of class
// ErrUnusableAudio for a recording that is empty or not audio, without a class for one that cannot
// be opened or is shorter than audio.Size.
func Open(op string, audio asr.Audio) (*Source, error) {
	if audio.Open == nil {
		return nil, &asr.Error{Op: op, Class: asr.ErrMisconfigured, Final: true, Message: "Audio.Open is nil"}
	}
	if audio.Size <= 0 {
		return nil, Unusable(op, "it is empty")
	}
	file, err := audio.Open()
	if err != nil {
		return nil, &asr.Error{Op: op, Message: "open audio", Err: err}
	}
	s := &Source{Size: audio.Size, op: op, audio: audio, file: file}
	if err := s.start(); err != nil {
		s.file.Close()
		return nil, err
	}
	s.left, s.close = s.Size, sync.OnceValue(s.file.Close)
	return s, nil
}

// start sets Size, Info and body.
func (s *Source) start() error {
	head := make([]byte, min(audiofile.HeadSize, s.audio.Size))
	n, err := io.ReadFull(s.file, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("it ends after %d of %d bytes", n, s.audio.Size)
	}
	if err != nil {
		return &asr.Error{Op: s.op, Message: "read audio", Err: err}
	}
	s.body = io.MultiReader(bytes.NewReader(head), s.file) // not every reader can seek
	if s.Info.Format = audiofile.Sniff(head); s.Info.Format != "" {
		if r, ok := s.file.(io.ReaderAt); ok {
			if info, err := audiofile.Inspect(r, s.audio.Size); err == nil {
				s.Info = info
				info.Repair(head, s.audio.Size)
			}
		}
		return nil
	}
	pcm, isPCM, err := audiofile.ParsePCM(s.audio.ContentType)
	if !isPCM {
		return Unusable(s.op, "it is not audio of a known format (wav, mp3, aac, m4a, mov, ogg, flac, webm, mka, "+
			"amr, caf, aiff; raw samples need a declared type such as audio/pcm;rate=16000)")
	}
	if err != nil {
		return Unusable(s.op, err.Error())
	}
	header := pcm.Header(s.audio.Size)
	s.body = io.MultiReader(bytes.NewReader(header), s.body)
	s.Size += int64(len(header))
	s.Info = audiofile.Info{Format: audiofile.WAV, Duration: pcm.Duration(s.audio.Size)}
	return nil
}

// Read implements io.Reader.
func (s *Source) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.body.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	switch {
	case err == io.EOF && s.left > 0:
		err = fmt.Errorf("it ends %d bytes before its announced size", s.left)
	case err == io.EOF:
		err = nil
	}
	if err != nil {
		err = &asr.Error{Op: s.op, Message: "read audio", Err: err}
	}
	return n, err
}

// Close closes the recording. It may be called more than once and while another goroutine reads:
// net/http does both.
func (s *Source) Close() error { return s.close() }

// PrimaryLanguage returns the primary subtag of a language tag in lower case: "zh" for "zh-CN".
// Recognisers of Whisper's kind know no others. It returns "" for what is not a language tag.
func PrimaryLanguage(tag string) string {
	primary, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(tag), "_", "-"), "-")
	primary = strings.ToLower(primary)
	if len(primary) < 2 || len(primary) > 8 || strings.Trim(primary, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return primary
}

// Unusable returns an error of class ErrUnusableAudio.
func Unusable(op, message string) error {
	return &asr.Error{Op: op, Class: asr.ErrUnusableAudio, Message: message}
}

// maxPrompt is the size of a prompt in bytes, unless Audio.Prompt alone is longer. Whisper reads no
// more than 224 tokens, and drops the first ones of a longer prompt.
const maxPrompt = 600

// What the sentence of the words in a prompt begins with.
const (
	beginEnglish = "It mentions "
	beginChinese = "其中提到："
)

// Prompt returns the prompt for recognisers of Whisper's kind: audio.Prompt, or else a sentence in
// the language of the recording, because they punctuate as their prompt does; then a sentence of as
// many of the first of audio.Words as fit.
func Prompt(audio asr.Audio) string {
	prompt, begin, between, end := audio.Prompt, "", ", ", "."
	switch tag := strings.ToLower(audio.Language); PrimaryLanguage(tag) {
	case "zh":
		begin, between, end = beginChinese, "、", "。"
		sentence := "以下是普通话的句子，有标点。"
		if strings.Contains(tag, "hant") || strings.HasSuffix(tag, "tw") || strings.HasSuffix(tag, "hk") {
			sentence = "以下是國語的句子，有標點。"
		}
		prompt = cmp.Or(prompt, sentence)
	case "en":
		begin = beginEnglish
		prompt = cmp.Or(prompt, "These are notes about a lesson, with commas and full stops.")
	}
	list := ""
	for _, word := range audio.Words {
		if list != "" {
			word = between + word
		}
		if len(prompt)+len(" ")+len(begin)+len(list)+len(word)+len(end) > maxPrompt {
			break
		}
		list += word
	}
	if list == "" {
		return prompt
	}
	if last, _ := utf8.DecodeLastRuneInString(prompt); prompt != "" && !unicode.IsPunct(last) {
		prompt += end
	}
	return asr.JoinText(prompt, begin+list+end)
}

// minEcho is the shortest text, in characters, that is taken for an echo of the prompt.
const minEcho = 8

// DropEcho removes the segments that repeat a part of the prompt that was sent, as recognisers of
// Whisper's kind do where nobody speaks, or the whole text if there are no segments. A segment that
// is one of words alone stays: a name may have been said. So it does if the prompt alone has the
// words, as that of a client, and is in English or Chinese: only these sentences of words are known
// by their beginning.
func DropEcho(t asr.Transcript, prompt string, words []string) asr.Transcript {
	for _, begin := range []string{beginEnglish, beginChinese} {
		if _, list, ok := strings.Cut(prompt, begin); ok {
			words = slices.Concat(words, strings.Split(strings.ReplaceAll(list, "、", ", "), ", "))
		}
	}
	trim := func(s string) string { return strings.TrimRightFunc(s, unicode.IsPunct) }
	echoes := func(text string) bool {
		return utf8.RuneCountInString(text) >= minEcho && strings.Contains(prompt, text) &&
			!slices.ContainsFunc(words, func(word string) bool { return trim(word) == trim(text) })
	}
	var kept, dropped []asr.Segment
	for _, s := range t.Segments {
		if echoes(s.Text) {
			dropped = append(dropped, s)
		} else {
			kept = append(kept, s)
		}
	}
	switch {
	case len(dropped) > 0 && len(kept) > 0:
		t.Segments, t.Text = kept, asr.JoinSegments(kept)
		t.Words = slices.DeleteFunc(slices.Clone(t.Words), func(w asr.Word) bool {
			return startsIn(w, dropped) && !startsIn(w, kept)
		})
	case len(dropped) > 0, echoes(t.Text):
		t.Text, t.Segments, t.Words = "", nil, nil
	}
	return t
}

// startsIn reports whether w starts in one of the segments, which are in order.
func startsIn(w asr.Word, segments []asr.Segment) bool {
	i := sort.Search(len(segments), func(i int) bool { return segments[i].End > w.Start })
	return i < len(segments) && segments[i].Start <= w.Start
}
