package cloud_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/cloud"
)

// TestWordsBecomeHotWords in each interface, within the limits of the cloud.
func TestWordsBecomeHotWords(t *testing.T) {
	t.Parallel()
	const ming = "小明和小红和晓茗和小" // 10 characters
	var many, first []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("Word %03d", i))
		first = append(first, many[i]+"|10")
	}
	letters := func(n int) []string { return slices.Repeat([]string{strings.Repeat("x", 26)}, n) }
	long := strings.Repeat(strings.Repeat("x", 26)+"|10,", 66) // 1980 bytes
	for name, c := range map[string]struct {
		words []string
		want  string
	}{
		"none":                {nil, ""},
		"names":               {[]string{"Siobhan", "小明", "O'Neil"}, "Siobhan|10,小明|10,O'Neil|10"},
		"no more than 128":    {many, strings.Join(first[:128], ",")},
		"none of 31 letters":  {[]string{strings.Repeat("x", 31), "Ada"}, "Ada|10"},
		"none of 11 Chinese":  {[]string{ming + ming, ming}, ming + "|10"},
		"2000 bytes":          {append(letters(66), strings.Repeat("y", 17)), long + strings.Repeat("y", 17) + "|10"},
		"no 2001 bytes":       {append(letters(66), strings.Repeat("y", 18)), strings.TrimSuffix(long, ",")},
		"none with separator": {[]string{"a|b", "a,b", "a，b", "a\nb", "", "Ada"}, "Ada|10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			audio := asr.FromBytes("a", asrtest.WAV(time.Second))
			audio.Words = c.words
			flash := newFlash(t)
			_, err := connect(t, account(flash, nil, cloud.Flash)).Recognize(t.Context(), audio)
			require.NoError(t, err)
			require.Equal(t, c.want, flash.Requests()[0].Fields["hotword_list"])
			api := newAPI(t)
			_, err = connect(t, account(nil, api, cloud.Task)).Recognize(t.Context(), audio)
			require.NoError(t, err)
			if got := api.hotWords.Load(); c.want == "" {
				require.Nil(t, got)
			} else {
				require.Equal(t, c.want, *got)
			}
		})
	}
}

// TestHotWordsAreNotInErrors: they are in the address of a request.
func TestHotWordsAreNotInErrors(t *testing.T) {
	t.Parallel()
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))
	audio.Words = []string{"Siobhan"}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	refusing := newFlash(t)
	refusing.SetFault(flashCode(4001))
	for _, cfg := range []cloud.Config{
		account(nil, nil, cloud.Flash), account(nil, nil, cloud.Task), account(refusing, nil, cloud.Flash),
	} {
		for _, ctx := range []context.Context{t.Context(), canceled} {
			_, err := connect(t, cfg).Recognize(ctx, audio)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "Siobhan")
			require.NotContains(t, err.Error(), "hotword_list")
		}
	}
}

// TestEngineFollowsTheLanguage of the recording, where the engine is for one language.
func TestEngineFollowsTheLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ engine, language, want, heard string }{
		{"", "", "16k_zh", "zh"}, {"", "zh-CN", "16k_zh", "zh"}, {"", "en", "16k_en", "en"},
		{"16k_en", "zh-Hans", "16k_zh", "zh"}, {"", "is", "16k_zh", "zh"}, {"8k_zh", "en", "8k_zh", "zh"},
		{"16k_zh_en", "en", "16k_zh_en", ""}, {"16k_zh_large", "", "16k_zh_large", ""},
		{"16k_multi_lang", "de", "16k_multi_lang", ""}, {"16k_zh-PY", "en", "16k_zh-PY", ""},
	} {
		flash := newFlash(t)
		cfg := account(flash, nil, cloud.Flash)
		cfg.EngineType = c.engine
		audio := asr.FromBytes("a", asrtest.WAV(time.Second))
		audio.Language = c.language
		got, err := connect(t, cfg).Recognize(t.Context(), audio)
		require.NoError(t, err)
		require.Equal(t, c.want, flash.Requests()[0].Fields["engine_type"], c)
		require.Equal(t, c.want, got.Model)
		require.Equal(t, c.heard, got.Language, c)
	}
}
