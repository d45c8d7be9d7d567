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
func fixed(t *testing.T, status int, body string, header ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/audio/transcriptions"
}

func TestClassesOfAnswers(t *testing.T) {
	t.Parallel()
	unavailable, misconfigured, unusable := asr.ErrUnavailable, asr.ErrMisconfigured, asr.ErrUnusableAudio
	date := time.Now().Add(40 * time.Minute).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		name      string
		status    int
		body      string
		header    []string
		class     error
		permanent bool
		after     time.Duration // at least
		says      string
	}{
		{"408", 408, "", nil, unavailable, false, 1, ""},
		{"429", 429, "slow down", nil, unavailable, false, 1, "slow down"},
		{"429 with seconds", 429, "", []string{"Retry-After", "33"}, unavailable, false, 33 * time.Second, ""},
		{"503 with a date", 503, "", []string{"Retry-After", date}, unavailable, false, 39 * time.Minute, ""},
		{"503 with nonsense", 503, "", []string{"Retry-After", "soon"}, unavailable, false, 1, ""},
		{"502 with a page", 502, "<html><body>nginx</body></html>", nil, asr.ErrLost, false, 0, "an HTML page"},
		{"503", 503, "", nil, unavailable, false, 1, ""},
		{"504", 504, "", nil, asr.ErrLost, false, 0, ""},
		{"404", 404, "", nil, misconfigured, false, 1, "does not have the endpoint"},
		{"405", 405, "", nil, misconfigured, false, 1, ""},
		{"401", 401, `{"detail":"who are you"}`, nil, misconfigured, false, 1, "key is missing or wrong: who are you"},
		{"400 for the model", 400, `{"detail":"Model 'm' not found."}`, nil, misconfigured, false, 1, "not"},
		{"404 for the model", 404, `{"detail":"Model m is not installed."}`, nil, misconfigured, false, 1, "not"},
		{"301", 301, "", []string{"Location", "/x"}, misconfigured, false, 1, "redirects"},
		{"402", 402, "", nil, asr.ErrRefused, false, 1, ""},
		{"400", 400, "Invalid request", nil, unusable, true, 0, "Invalid request"},
		{"413", 413, `{"error":"15 MB"}`, nil, unusable, true, 0, "15 MB"},
		{"422", 422, `{"detail":[{"loc":["body","file"],"msg":"bad"}]}`, nil, unusable, true, 0, "body.file: bad"},
		{"500", 500, `{"error":{"message":"CUDA"}}`, nil, nil, false, 0, "CUDA"},
		{"500 for bad audio", 500, `{"error":"FFmpeg conversion failed."}`, nil, nil, false, 0, "conversion failed"},
		{"200 with an error", 200, `{"error":"failed to read audio data"}`, nil, nil, false, 0, "failed to read"},
		{"200 with an error and a text", 200, `{"error":{"message":"x"},"text":""}`, nil, nil, false, 0, "x"},
		{"200 with a code", 200, `{"code":5,"msg":"engine"}`, nil, nil, false, 0, "engine"},
		{"200 with a page", 200, "<!doctype html>", nil, nil, false, 0, "not a JSON object"},
		{"200 with nothing", 200, "", nil, nil, false, 0, "not a JSON object"},
		{"200 with a list", 200, "[]", nil, nil, false, 0, "not a JSON object"},
		{"200 without text", 200, `{"txt":"a"}`, nil, nil, false, 0, "no text"},
		{"200 with a text that is a list", 200, `{"text":[1]}`, nil, nil, false, 0, "cannot be parsed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec := connect(t, local.Config{URL: fixed(t, c.status, c.body, c.header...) + "?model=m"})
			_, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(20*time.Second)))
			e, ok := errors.AsType[*asr.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, c.class, e.Class)
			require.Equal(t, c.permanent, e.Permanent())
			require.Equal(t, c.after > 0, e.RetryAfter() > 0)
			require.GreaterOrEqual(t, e.RetryAfter(), c.after)
			require.Equal(t, c.status, e.Status)
			require.ErrorContains(t, err, c.says)
			if c.class == asr.ErrMisconfigured || c.class == asr.ErrRefused {
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
		{503, `busy with %E9%9B%A8%E6%A1%90, Siobhan` + strings.Repeat(" Siobhan", 100), "busy with …, …"},
		{503, strings.Repeat("x ", 95) + "雨桐 Siobhan", "x … …"},
	} {
		var log strings.Builder
		rec := connect(t, local.Config{
			URL:    fixed(t, c.status, c.body),
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		audio := asr.FromBytes("a", asrtest.WAV(time.Second))
		audio.Words = []string{"Siobhan", "雨桐"}
		_, err := rec.Recognize(t.Context(), audio)
		require.ErrorContains(t, err, c.says)
		if strings.HasSuffix(c.says, " of ") {
			require.ErrorContains(t, err, fmt.Sprintf("%s%d bytes", c.says, len(c.body)))
		}
		for _, word := range []string{"雨桐", "iobhan", `u96e8`, "%E9", "twice"} {
			require.NotContains(t, err.Error(), word, c.body)
			require.NotContains(t, log.String(), word, c.body)
		}
	}
}

func TestFiguresOfSegmentsAreKept(t *testing.T) {
	t.Parallel()
	rec := connect(t, local.Config{URL: fixed(t, 200, `{"text":"a b","segments":[
		{"start":0,"end":1,"text":"<|en|>a","no_speech_prob":0.97,"avg_logprob":-0.3,"compression_ratio":12.3},
		{"start":1,"end":2,"text":"b","no_speech_prob":null,"avg_logprob":"x","compression_ratio":1e999}]}`)})
	got, err := recognize(t, rec)
	require.NoError(t, err)
	require.Equal(t, []asr.Segment{
		{End: time.Second, Text: "a", NoSpeechProb: 0.97, AvgLogProb: -0.3, CompressionRatio: 12.3},
		{Start: time.Second, End: 2 * time.Second, Text: "b"},
	}, got.Segments)
}

func TestFormsOfSuccess(t *testing.T) {
	t.Parallel()
	for body, text := range map[string]string{
		`{"text":" a\n b\n"}`:                           "a b",
		`{"text":""}`:                                   "", // silence is a success
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
