package local_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

func TestInvalidURLIsExplained(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"":                                 "the URL is empty",
		"  ":                               "the URL is empty",
		"127.0.0.1:8080":                   "cannot be parsed",
		"localhost:8080":                   `scheme is "localhost"`,
		"ftp://host":                       `scheme is "ftp"`,
		"http://":                          "has no host",
		"http://:sk-very-secret@[bad":      "cannot be parsed",
		"http://host?response_format=text": "response_format",
		"http://host?stream=true":          "stream",
		"http://host?file=x":               "file",
		"http://host?prompt=%zz":           "query",
	} {
		_, err := local.New(local.Config{URL: url})
		require.ErrorContains(t, err, says, url)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := local.New(local.Config{URL: "http://host", APIKey: "a\nb"})
	require.ErrorContains(t, err, "line break")
}

func TestURLContainsFieldsAndKey(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.OpenAI)
	s.SetKey(secret)
	s.SetModels("large-v3", "other")
	host := s.URL[len("http://"):]
	audio := asr.FromBytes("a", asrtest.WAV(time.Second))

	rec := connect(t, local.Config{
		URL: "http://:" + secret + "@" + host + "?model=large-v3&language=zh&prompt=音乐+课&vad=1",
	})
	_, err := rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	req := s.Requests()[0]
	require.Equal(t, map[string]string{
		"response_format": "json", "model": "large-v3", "language": "zh", "prompt": "音乐 课", "vad": "1",
	}, req.Fields)
	require.Equal(t, "file", req.Names[len(req.Names)-1])
	require.Equal(t, "Bearer "+secret, req.Authorization)

	audio.Language = "en-US"
	rec = connect(t, local.Config{URL: s.URL + "?language=zh&model=large-v3", Model: "other", APIKey: secret})
	_, err = rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	req = s.Requests()[1]
	require.Equal(t, "en", req.Fields["language"], "that of the recording has priority, without its region")
	require.Equal(t, "other", req.Fields["model"])

	_, err = connect(t, local.Config{URL: "http://user:" + secret + "@" + host}).Recognize(t.Context(), audio)
	require.ErrorIs(t, err, asr.ErrMisconfigured)
	require.NotContains(t, err.Error(), secret)
}

func TestEndpointInTheURLIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	for path, d := range map[string]asrtest.Dialect{
		"/v1/audio/transcriptions": asrtest.OpenAI,
		"/inference":               asrtest.WhisperCPP,
		"/recognition":             asrtest.FunASRRecognition,
	} {
		s := asrtest.NewServer(t, d)
		rec := connect(t, local.Config{URL: s.URL + path + "?model=tiny"})
		_, err := recognize(t, rec)
		require.NoError(t, err)
		require.Equal(t, []string{"POST " + path}, s.Paths(), "without discovery")
		require.True(t, rec.Check(t.Context()).Available)
	}
	s := asrtest.NewServer(t, asrtest.OpenAI)
	rec := connect(t, local.Config{URL: s.URL + "/v1"})
	_, err := recognize(t, rec)
	require.NoError(t, err, "a base that ends in /v1, as in clients of OpenAI")
	require.True(t, rec.Check(t.Context()).Available)
}

func TestConcurrencyIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			defer r.Body.Close()
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			body := io.NopCloser(strings.NewReader(`{"text":"x"}`))
			return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
		})
		rec := connect(t, local.Config{URL: "http://host/inference", Concurrency: 2, Transport: transport})
		start := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { _, _ = recognize(t, rec) })
		}
		wg.Wait()
		require.EqualValues(t, 2, most.Load())
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}
