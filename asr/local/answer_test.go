package local_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// fixed starts a server that returns the same answer to every recording.
func fixed(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/audio/transcriptions"
}

// The classes of all statuses are tested in package provider.
func TestClassesOfAnswers(t *testing.T) {
	t.Parallel()
	misconfigured, unusable := asr.ErrMisconfigured, asr.ErrUnusableAudio
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  error
		says   string
	}{
		{"429", 429, "slow down", asr.ErrUnavailable, "slow down"},
		{"429 for the quota", 429, `{"error":{"message":"exceeded","code":"insufficient_quota"}}`,
			asr.ErrRefused, "exceeded"},
		{"502 with a page", 502, "<html><body>nginx</body></html>", asr.ErrLost,
			"a proxy got no answer from the recogniser: the answer is an HTML page"},
		{"413 with nothing", 413, "", unusable, "it is larger than the recogniser, or a proxy before it, accepts (H"},
		{"404", 404, "", misconfigured, "does not have the endpoint"},
		{"401", 401, `{"detail":"who are you"}`, misconfigured, "key is missing or wrong: who are you"},
		{"400 for the model", 400, `{"detail":"Model 'm' not found."}`, misconfigured, "not"},
		{"404 for the model", 404, `{"detail":"Model m is not installed."}`, misconfigured, "not"},
		{"301", 301, "", misconfigured, "redirects"},
		{"402", 402, "", asr.ErrRefused, ""},
		{"400", 400, "Invalid request", unusable, "Invalid request"},
		{"422", 422, `{"detail":[{"loc":["body","file"],"msg":"bad"}]}`, unusable, "body.file: bad"},
		{"400 by nginx", 400, "<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>",
			misconfigured, "expects https://"},
		{"400 by Apache", 400, "<!DOCTYPE html>You're speaking plain HTTP to an SSL-enabled server port.",
			misconfigured, "expects https://"},
		{"500", 500, `{"error":{"message":"CUDA"}}`, nil, "CUDA"},
		{"500 for bad audio", 500, `{"error":"FFmpeg conversion failed."}`, nil, "conversion failed"},
		{"200 with an error", 200, `{"error":"failed to read audio data"}`, nil, "failed to read"},
		{"200 with an error and a text", 200, `{"error":{"message":"x"},"text":""}`, nil, "x"},
		{"200 with a code", 200, `{"code":5,"msg":"engine"}`, nil, "engine"},
		{"200 with a page", 200, "<!doctype html>", nil, "not a JSON object"},
		{"200 with nothing", 200, "", nil, "not a JSON object"},
		{"200 without text", 200, `{"txt":"a"}`, nil, "no text"},
		{"200 with a text that is a list", 200, `{"language":["en"],"text":[1]}`, nil, "cannot be parsed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec := connect(t, local.Config{URL: fixed(t, c.status, c.body) + "?model=m"})
			_, err := recognize(t, rec)
			e, ok := errors.AsType[*asr.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, c.class, e.Class)
			require.Equal(t, c.status, e.Status)
			require.ErrorContains(t, err, c.says)
			if c.class == misconfigured || c.class == asr.ErrRefused {
				require.False(t, rec.Status(t.Context()).Available)
			}
		})
	}
}

// What was said or sent must not outlive the recording in a log or in the error of a job.
func TestErrorsAndLogsDoNotRepeatWhatWasSaidOrSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		body, says string
	}{
		{200, "雨桐 played it twice", "text of "},
		{200, `["雨桐", "played it twice"]`, "JSON of "},
		{200, `{"text":["雨桐 played it twice"]}`, "JSON of "},
		{200, `{"txt":"雨桐 played it twice"}`, "JSON of "},
		{200, `{"code":3,"txt":"played it twice"}`, "JSON of "},
		{400, `{"error":"prompt too long: \"Known: Siobhan, 雨桐.\""}`, `prompt too long: "Known: …, …."`},
		{500, `{"detail":"bad prompt '\\u96e8\\u6850 siobhan'"}`, "bad prompt '… …'"},
		{500, `{"said":"played it twice"}`, "JSON of "},
		{400, `{"detail":"no key, no test"}`, "no key, no test"},
		{401, `{"detail":"wrong key sk-test-key"}`, "the key is missing or wrong: wrong key … (HTTP 401)"},
		{503, `busy with %E9%9B%A8%E6%A1%90, Siobhan` + strings.Repeat(" Siobhan", 100), "busy with …, …"},
		{503, strings.Repeat("x ", 95) + "雨桐 Siobhan", "x … …"},
	} {
		var log strings.Builder
		rec := connect(t, local.Config{
			URL:    fixed(t, c.status, c.body),
			APIKey: "sk-test-key",
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		audio := asr.FromBytes("a", asrtest.WAV(time.Second))
		audio.Words = []string{"Siobhan", "雨桐"}
		_, err := rec.Recognize(t.Context(), audio)
		require.ErrorContains(t, err, c.says)
		if strings.HasSuffix(c.says, " of ") {
			require.ErrorContains(t, err, fmt.Sprintf("%s%d bytes", c.says, len(c.body)))
		}
		for _, word := range []string{"雨桐", "iobhan", `u96e8`, "%E9", "twice", "sk-test-key"} {
			require.NotContains(t, err.Error(), word, c.body)
			require.NotContains(t, log.String(), word, c.body)
		}
	}
}

func TestFiguresOfSegmentsMayBeStringsOrMissing(t *testing.T) {
	t.Parallel()
	rec := connect(t, local.Config{URL: fixed(t, 200, `{"text":"a b","duration":"2.5",
		"words":[{"word":"a","start":0.5},{"word":"[MUSIC]","start":1}],"segments":[
		{"start":"0.5","end":1,"text":"<|en|>a","speaker":3,
			"no_speech_prob":0.97,"avg_logprob":-0.3,"compression_ratio":12.3},
		{"start":1,"end":null,"text":"b","no_speech_prob":null,"avg_logprob":"x","compression_ratio":1e999}]}`)})
	got, err := recognize(t, rec)
	require.NoError(t, err)
	require.Equal(t, []asr.Segment{
		{Start: 500 * time.Millisecond, End: time.Second, Text: "a",
			NoSpeechProb: 0.97, AvgLogProb: -0.3, CompressionRatio: 12.3},
		{Start: time.Second, End: time.Second, Text: "b"},
	}, got.Segments)
	at := 500 * time.Millisecond
	require.Equal(t, []asr.Word{{Start: at, End: at, Text: "a"}}, got.Words)
}

// As from LocalAI before and since release 4.2, servers in Python, and whisper.cpp.
func TestTimesInOtherForms(t *testing.T) {
	t.Parallel()
	for name, segments := range map[string]string{
		"nanoseconds":  `[{"end":8200000000,"text":"a","words":[{"text":" a","start":960000000,"end":1e9}]}]`,
		"seconds":      `[{"end":8.2,"text":"a"}],"words":[{"text":"a","start":0.96,"end":1}]`,
		"other fields": `[{"end":8.2,"text":"a","words":[{"word":"a","start":0.96,"end":1}]}],"language":["en"]`,
		"no numbers": `[{"end":8.2,"text":"a","avg_logprob": NaN,"compression_ratio":-Infinity,
			"words":[{"word":"a","start":0.96,"end":1}]}]`,
		"one wrong time": `[{"end":8.2,"text":"a","words":[{"word":"a","start":0.96,"end":1}]},
			{"start":8.2,"end":1e7,"text":"[BLANK_AUDIO]"}]`,
		"sentences": `[],"sentences":[{"end":8200,"text":"a"},{"start":8200,"text":"<|nospeech|>"}],
			"words":[{"word":"a","start":960000000,"end":1e9}]`,
		"words of a marker": `[{"end":8.2,"text":"a"},{"start":8.2,"end":9,"text":"[no speech]"}],
			"words":[{"word":"a","start":0.96,"end":1},{"word":"[no","start":8.2,"end":8.5}]`,
		"a marker": `[{"end":8.2,"text":"a","words":[{"word":"a","start":0.96,"end":1}]},
			{"start":8.2,"end":9,"text":" [BLANK_AUDIO]","words":[{"word":" [","start":8.2,"end":9}]}]`,
	} {
		rec := connect(t, local.Config{URL: fixed(t, 200, `{"text":"a","segments":`+segments+`}`)})
		got, err := recognize(t, rec)
		require.NoError(t, err, name)
		require.Equal(t, []asr.Segment{{End: 8200 * time.Millisecond, Text: "a"}}, got.Segments, name)
		require.Equal(t, []asr.Word{{Start: 960 * time.Millisecond, End: time.Second, Text: "a"}}, got.Words, name)
	}
}

func TestFormsOfSuccess(t *testing.T) {
	t.Parallel()
	for body, text := range map[string]string{
		`{"text":" a\n b\n"}`:                           "a b",
		`{"text":""}`:                                   "", // silence is a success
		`{"text":"","language":["en"]}`:                 "",
		`{"text":"to: Infinity and beyond","p": NaN}`:   "to: Infinity and beyond",
		`"只是文本"`:                                        "只是文本",
		`{"text":"好\n的","code":0}`:                      "好的",
		`{"text":"x","error":null,"code":"0"}`:          "x",
		`{"text":"x","error":"","usage":{"seconds":1}}`: "x",
		"\ufeff {\"text\":\"x\"}":                       "",
	} {
		rec := connect(t, local.Config{URL: fixed(t, 200, body)})
		got, err := recognize(t, rec)
		if strings.HasPrefix(body, "\ufeff") {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, body)
		require.Equal(t, text, got.Text)
	}
}
