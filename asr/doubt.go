package asr

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits beyond which Whisper distrusts a segment itself (openai/whisper, transcribe.py:
// no_speech_threshold, logprob_threshold, compression_ratio_threshold).
const (
	maxNoSpeechProb     = 0.6
	minAvgLogProb       = -1.0
	maxCompressionRatio = 2.4
)

// credits are the words of subtitles that Whisper writes for silence with a good AvgLogProb (as in
// faster-whisper's issue 621). They may also be said.
var credits = regexp.MustCompile(`(?i)thank(s| you) (so much |very much )?for watching|subscribe|subtitles? by|` +
	`amara\.org|[点點][赞讚]|[订訂][阅閱]|[谢謝]{2}[观觀收]看|字幕`)

// doubtful reports whether there are two signs that the segment was not said. One is not enough: of
// quiet speech and of a child's, one figure is often bad.
func (s Segment) doubtful() bool {
	bad := 0
	for _, b := range []bool{
		s.NoSpeechProb > maxNoSpeechProb, s.AvgLogProb < minAvgLogProb, s.CompressionRatio > maxCompressionRatio,
		credits.MatchString(s.Text),
	} {
		if b {
			bad++
		}
	}
	return bad >= 2
}

// A loop is what recognisers write again and again for noise and silence: up to maxPeriod words,
// or characters of scripts without spaces, at least minRepeats times and minLoop words in all.
// Counting, laughing and singing aloud are shorter.
const maxPeriod, minRepeats, minLoop = 50, 4, 20

// token is a word, or a character of a script without spaces, in a part of the text.
type token struct {
	part, start, end int // bytes of the part
}

// tokenize returns the words and characters of a text.
func tokenize(text string) []token {
	var tokens []token
	inWord := false
	for i, r := range text {
		switch n := utf8.RuneLen(r); {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r):
			inWord = false
		case inWord && !unspaced(r):
			tokens[len(tokens)-1].end = i + n
		default:
			tokens = append(tokens, token{start: i, end: i + n})
			inWord = !unspaced(r)
		}
	}
	return tokens
}

// markLoops marks loops as doubtful. A part of which only some is a loop is divided.
func markLoops(parts []Sentence) []Sentence {
	var tokens []token
	var words []int // numbers of the different words
	numbers := map[string]int{}
	for i, p := range parts {
		for _, t := range tokenize(p.Text) {
			t.part = i
			word := strings.ToLower(p.Text[t.start:t.end])
			if _, known := numbers[word]; !known {
				numbers[word] = len(numbers)
			}
			tokens, words = append(tokens, t), append(words, numbers[word])
		}
	}
	looped := make([]bool, len(tokens))
	for period := 1; period <= maxPeriod; period++ {
		for start, i := 0, period; i <= len(words); i++ {
			if i < len(words) && words[i] == words[i-period] {
				continue
			}
			if n := i - start; n >= minLoop && n >= minRepeats*period {
				for j := start; j < i; j++ {
					looped[j] = true
				}
			}
			start = i - period + 1
		}
	}
	var out []Sentence
	for i, p := range parts {
		var own []token
		for len(tokens) > 0 && tokens[0].part == i {
			own, tokens = append(own, tokens[0]), tokens[1:]
		}
		out = append(out, divide(p, own, looped[:len(own)])...)
		looped = looped[len(own):]
	}
	return out
}

// divide divides a part before each token whose mark differs from that of the one before. Times are
// estimated from the lengths of the texts.
func divide(p Sentence, tokens []token, looped []bool) []Sentence {
	var out []Sentence
	at, start := 0, p.Start
	piece := func(end int, doubtful bool) {
		stop := p.Start + time.Duration(float64(p.End-p.Start)*(float64(end)/float64(len(p.Text))))
		if text := strings.TrimSpace(p.Text[at:end]); text != "" {
			out = append(out, Sentence{text, start, stop, p.Doubtful || doubtful})
		}
		at, start = end, stop
	}
	for i := 1; i < len(tokens); i++ {
		if looped[i] != looped[i-1] {
			piece(tokens[i].start, looped[i-1])
		}
	}
	piece(len(p.Text), len(looped) > 0 && looped[len(looped)-1])
	return out
}
