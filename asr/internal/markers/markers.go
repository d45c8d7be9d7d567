// Package markers removes from a text what recognisers write in place of speech.
package markers

import (
	"regexp"
	"strings"
)

// known are markers that were seen in the output of whisper.cpp, faster-whisper, PocketSphinx and
// FunASR, and the tags of SenseVoice and Whisper. Other words in brackets may have been said.
var known = regexp.MustCompile(`(?i)(?:\[|\(|\*|【|（|<\|?)\s*_?(?:` + strings.Join([]string{
	"blank[_ ]audio", "no[_ ]speech", "silence", "sil", "pause", "noise", "background noise", "static", "music",
	"music playing", "upbeat music", "applause", "laughter", "laughs", "coughs?", "coughing", "sighs?", "breathing",
	"inaudible", "unintelligible", "speaking in foreign language", "foreign language", "typing", "clicking", "beep",
	"speech", "音乐", "音樂", "掌声", "笑声", "静音", "噪音", "TT_\\d+", "BEG",
}, "|") + `)_?\s*(?:\]|\)|\*|】|）|\|?>)|<\|[^<>|]{0,40}\|>|♪+`)

// Drop returns text without markers.
func Drop(text string) string {
	if !strings.ContainsAny(text, "[(*【（<♪") {
		return text
	}
	return strings.Join(strings.Fields(known.ReplaceAllString(text, " ")), " ")
}
