package asrhttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrhttp"
	"lessonkit.example/asr/asrtest"
)

// speaks is a recogniser that hears the same in every recording.
func speaks(words bool, got *asr.Audio) recognizer {
	return recognizer{status: asr.Status{Available: true, Model: "ear/1"},
		f: func(_ context.Context, a asr.Audio) (asr.Transcript, error) {
			*got = a
			t := asr.Transcript{
				Text: "hello <world>. 再见", Duration: 3723*time.Second + 45*time.Millisecond,
				Segments: []asr.Segment{
					{Start: 0, End: 1500 * time.Millisecond, Text: "hello <world>."},
					{Start: 3722 * time.Second, End: 3723*time.Second + 45*time.Millisecond, Text: "再见"},
				},
			}
			if words {
				t.Words = []asr.Word{{Start: 0, End: 400 * time.Millisecond, Text: "hello"}}
			}
			return t, nil
		}}
}

func TestFormatsOfAnswers(t *testing.T) {
	t.Parallel()
	var got asr.Audio
	url := serve(t, asrhttp.Config{Recognizer: speaks(true, &got)})
	const usage = `"usage":{"seconds":3724,"type":"duration"}}`
	for _, c := range []struct{ name, fields, contentType, body string }{
		{"json", "response_format=json", "application/json", `{"text":"hello <world>. 再见",` + usage},
		{"text", "response_format=text", "text/plain", "hello <world>. 再见"},
		{"srt", "response_format=srt", "application/x-subrip",
			"1\n00:00:00,000 --> 00:00:01,500\nhello <world>.\n\n2\n01:02:02,000 --> 01:02:03,045\n再见"},
		{"vtt", "response_format=vtt", "text/vtt",
			"WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nhello <world>.\n\n01:02:02.000 --> 01:02:03.045\n再见"},
		{"segments", "response_format=verbose_json", "application/json",
			`{"duration":3723.045,"language":"en","segments":[{"id":0,"start":0,"end":1.5,"text":"hello <world>."},` +
				`{"id":1,"start":3722,"end":3723.045,"text":"再见"}],"task":"transcribe","text":"hello <world>. 再见"}`},
		{"words", "response_format=verbose_json timestamp_granularities[]=word", "application/json",
			`{"duration":3723.045,"language":"en","task":"transcribe","text":"hello <world>. 再见",` +
				`"words":[{"word":"hello","start":0,"end":0.4}]}`},
		{"no stream", "stream=", "application/json", `{"text":"hello <world>. 再见",` + usage},
		{"stream", "stream=True", "text/event-stream",
			`data: {"delta":"hello \u003cworld\u003e. 再见","type":"transcript.text.delta"}` + "\n\n" +
				`data: {"text":"hello \u003cworld\u003e. 再见","type":"transcript.text.done",` + usage},
	} {
		fields := append(strings.Fields(c.fields), "file=@", "model=whatever", "language=en", "prompt=Anna, Ming")
		resp, body := post(t, url, asrtest.WAV(time.Second), fields...)
		require.Equal(t, 200, resp.StatusCode, body)
		require.Equal(t, c.contentType+"; charset=utf-8", resp.Header.Get("Content-Type"), c.name)
		require.Equal(t, c.body, strings.TrimSpace(body), c.name)
		require.Empty(t, resp.Header.Get("X-Ignored-Fields"))
		require.Equal(t, "Anna, Ming", got.Prompt)
		require.Equal(t, "en", got.Language)
		require.EqualValues(t, len(asrtest.WAV(time.Second)), got.Size)
	}
	resp, _ := post(t, url, asrtest.WAV(time.Second), "file=@", "temperature=0.2", "vad=true")
	require.Equal(t, "temperature, vad", resp.Header.Get("X-Ignored-Fields"))
}

func TestWordsThatTheRecogniserDoesNotReturnAreRefused(t *testing.T) {
	t.Parallel()
	var got asr.Audio
	url := serve(t, asrhttp.Config{Recognizer: speaks(false, &got)})
	resp, body := post(t, url, asrtest.WAV(time.Second), "file=@", "response_format=verbose_json",
		"timestamp_granularities[]=word")
	require.Equal(t, 400, resp.StatusCode)
	require.Contains(t, body, "does not return the times of words")
}

func TestWebPagesAreKeptOut(t *testing.T) {
	t.Parallel()
	var got asr.Audio
	url := serve(t, asrhttp.Config{Recognizer: speaks(false, &got)})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/audio/transcriptions", nil)
	require.NoError(t, err)
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
}

// Slow uploads take no place of recordings that have arrived.
func TestSlowUploadsDoNotTakeThePlaceOfRecordings(t *testing.T) {
	t.Parallel()
	var got asr.Audio
	url := serve(t, asrhttp.Config{MaxPending: 1, Recognizer: speaks(false, &got)})
	for range 3 { // a fourth may arrive
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\n"+
			"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b\r\n")
		require.NoError(t, err)
		resp, body := post(t, url, asrtest.WAV(time.Second), "file=@")
		require.Equal(t, 200, resp.StatusCode, body)
	}
}
