package markers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/internal/markers"
)

func TestOnlyKnownMarkersAreDropped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[BLANK_AUDIO]": "", "(music)": "", "[ Silence ]": "", "*coughs*": "", "♪♪": "", "[_TT_250]": "",
		"<sil> hello <sil>": "hello", "well done (upbeat music) goodbye": "well done goodbye",
		"【音乐】画得很好":                                 "画得很好",
		"<|nospeech|> a":                           "a",
		"<|zh|><|NEUTRAL|><|Speech|><|woitn|>今天练琴": "今天练琴",
		"<|0.00|> hello<|2.50|>":                   "hello",
		"she likes music":                          "she likes music",
		"the second (and last) page":               "the second (and last) page",
		"f(x) = [1, 2]":                            "f(x) = [1, 2]",
		"two  spaces stay if no marker":            "two  spaces stay if no marker",
	} {
		require.Equal(t, want, markers.Drop(text), text)
	}
}
