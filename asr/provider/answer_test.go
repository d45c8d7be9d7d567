package provider_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/provider"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UTC()
		for value, want := range map[string]time.Duration{
			"": 0, "soon": 0, "-5": 0, "0": 0, "33": 33 * time.Second, "86400": time.Hour,
			now.Add(time.Minute).Format(http.TimeFormat):   time.Minute,
			now.Add(-time.Minute).Format(http.TimeFormat):  0,
			now.Add(2 * time.Hour).Format(http.TimeFormat): time.Hour,
		} {
			busy := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {value}}}
			require.Equal(t, want, provider.StatusError("test", busy, "").After, value)
		}
	})
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "",
		" two\n\tlines \r\n":                  "two lines",
		"\x1b[31mred\x00\x7f":                 "[31mred",
		"a\xffb":                              "a\uFFFDb",
		strings.Repeat("好", 100):              strings.Repeat("好", 66),
		strings.Repeat("x", 1<<20):            strings.Repeat("x", 200),
		strings.Repeat("\xff ", 1<<10):        strings.TrimSpace(strings.Repeat("\uFFFD ", 50)),
		strings.Repeat(" ", 400) + "indented": "indented",
	} {
		require.Equal(t, want, provider.Excerpt(text, asr.Audio{}))
	}
}

func TestExcerptLooksForNothingInVainAndForNoWholeTranscript(t *testing.T) {
	sent := asr.Audio{Prompt: strings.Repeat("word ", 1000)}
	require.Zero(t, testing.AllocsPerRun(1, func() { provider.Excerpt("", sent) }))
	require.Equal(t, "no …", provider.Excerpt("no word", sent))
	sent.Words = []string{strings.Repeat("x", 28<<10)}
	require.Empty(t, provider.Excerpt("no word", sent))
}

func TestExcerptOfWhatWasSentAndIsNotUTF8(t *testing.T) {
	t.Parallel()
	sent := asr.Audio{Words: []string{"caf\xe9 Lena"}, Prompt: "\xff"}
	require.Equal(t, "no … or …", provider.Excerpt("no caf\xe9 Lena or lena", sent))
	require.Equal(t, "no … or …", provider.Excerpt("no caf\uFFFD Lena or caf%E9+Lena", sent))
}
