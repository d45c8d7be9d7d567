package asrhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrhttp"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
	"lessonkit.example/internal/logtest"
)

// recognizer calls a function.
type recognizer struct {
	f      func(context.Context, asr.Audio) (asr.Transcript, error)
	status asr.Status
}

func (r recognizer) Recognize(ctx context.Context, a asr.Audio) (asr.Transcript, error) {
	return r.f(ctx, a)
}
func (r recognizer) Status(context.Context) asr.Status { return r.status }

func serve(t *testing.T, cfg asrhttp.Config) string {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	h, err := asrhttp.New(cfg)
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// post sends a form of fields "name=value" in order; "file=@" is the recording.
func post(t *testing.T, url string, audio []byte, fields ...string) (*http.Response, string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if value == "@" {
			p, err := w.CreateFormFile(name, "a.wav")
			require.NoError(t, err)
			_, err = p.Write(audio)
			require.NoError(t, err)
			continue
		}
		require.NoError(t, w.WriteField(name, value))
	}
	require.NoError(t, w.Close())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/audio/transcriptions", &buf)
	require.NoError(t, err)
	req.Header.Set("Content-Type", w.FormDataContentType())
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func TestInvalidRequestsAreExplained(t *testing.T) {
	t.Parallel()
	rec := recognizer{f: func(context.Context, asr.Audio) (asr.Transcript, error) {
		return asr.Transcript{}, errors.New("not to be called")
	}}
	url := serve(t, asrhttp.Config{MaxBytes: 1000, Recognizer: rec})
	for _, c := range []struct {
		name   string
		audio  []byte
		fields []string
		status int
		says   string
	}{
		{"no file", nil, []string{"model=x"}, 400, `the form has no field \"file\"`},
		{"empty file", nil, []string{"file=@"}, 400, "the recording is empty"},
		{"two files", asrtest.WAV(0), []string{"file=@", "file=@"}, 400, "more than one"},
		{"unknown format", asrtest.WAV(0), []string{"file=@", "response_format=xml"}, 400,
			"must be json, text, verbose_json"},
		{"stream of text", asrtest.WAV(0), []string{"file=@", "stream=true", "response_format=text"}, 400,
			"stream needs"},
		{"hot", asrtest.WAV(0), []string{"file=@", "temperature=hot"}, 400, "a number from 0 to 1"},
		{"logprobs", asrtest.WAV(0), []string{"file=@", "include[]=logprobs"}, 400, "not supported"},
		{"words without verbose_json", asrtest.WAV(0), []string{"file=@", "timestamp_granularities[]=word"}, 400,
			"needs response_format verbose_json"},
		{"granularity", asrtest.WAV(0), []string{"file=@", "timestamp_granularities[]=letter"}, 400,
			"must be word or segment"},
		{"too large", asrtest.WAV(time.Second), []string{"file=@"}, 413, "larger than 0.0009537 MB"},
		{"not UTF-8", asrtest.WAV(0), []string{"file=@", "prompt=caf\xe9"}, 400,
			`the field \"prompt\" is not text in UTF-8`},
		{"NUL", asrtest.WAV(0), []string{"file=@", "prompt=a\x00b"}, 400, `the field \"prompt\" is not text in UTF-8`},
		{"stream", asrtest.WAV(0), []string{"file=@", "stream=maybe"}, 400, "it must be true or false"},
		{"another field", asrtest.WAV(time.Second), []string{"audio=@"}, 400, `not in \"audio\"`},
		{"long name", asrtest.WAV(0), []string{strings.Repeat("x", 30_000) + "=1"}, 400, "in the header of a field"},
		{"long field", asrtest.WAV(0), []string{"prompt=" + strings.Repeat("x", 5000)}, 400, "longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := post(t, url, c.audio, c.fields...)
			require.Equal(t, c.status, resp.StatusCode, body)
			require.Contains(t, body, c.says)
			var e struct {
				Error struct{ Message, Type string } `json:"error"`
			}
			require.NoError(t, json.Unmarshal([]byte(body), &e))
			require.Equal(t, "invalid_request_error", e.Error.Type)
		})
	}
	resp, err := http.Post(url+"/v1/audio/transcriptions", "audio/wav", bytes.NewReader(asrtest.WAV(0)))
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, 400, resp.StatusCode)
	for path, status := range map[string]int{"/v1/audio/transcriptions": 405, "/v1/nothing": 404} {
		resp, err := http.Get(url + path)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, status, resp.StatusCode, path)
	}
}

func TestStatusOfRecognitionErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		err        error
		status     int
		retryAfter string
		says       string
	}{
		{"unusable audio", &asr.Error{Class: asr.ErrUnusableAudio, Message: "it is noise"}, 400, "", "it is noise"},
		{"unavailable", &asr.Error{Class: asr.ErrUnavailable, After: 1500 * time.Millisecond}, 503, "2", "not"},
		{"failure", &asr.Error{Message: "secret path"}, 500, "", "the recogniser failed"},
		{"unknown", errors.New("secret path"), 500, "", "the recogniser failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec := recognizer{f: func(context.Context, asr.Audio) (asr.Transcript, error) {
				return asr.Transcript{}, c.err
			}}
			url := serve(t, asrhttp.Config{Recognizer: rec})
			resp, body := post(t, url, asrtest.WAV(0), "file=@")
			require.Equal(t, c.status, resp.StatusCode)
			require.Equal(t, c.retryAfter, resp.Header.Get("Retry-After"))
			require.Contains(t, body, c.says)
			require.NotContains(t, body, "secret")
		})
	}
}

func TestTooManyPendingRecordingsAreRejectedAtOnce(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	rec := recognizer{f: func(context.Context, asr.Audio) (asr.Transcript, error) {
		close(entered)
		<-release
		return asr.Transcript{Text: "first"}, nil
	}}
	url := serve(t, asrhttp.Config{MaxPending: 1, Recognizer: rec})
	first := make(chan string)
	go func() {
		_, body := post(t, url, asrtest.WAV(0), "file=@")
		first <- body
	}()
	<-entered
	resp, body := post(t, url, asrtest.WAV(0), "file=@")
	require.Equal(t, 503, resp.StatusCode, body)
	require.Equal(t, "15", resp.Header.Get("Retry-After"))
	close(release)
	require.Contains(t, <-first, "first")
}

func TestTheLogSaysWhyARecordingCannotBeStored(t *testing.T) {
	t.Parallel()
	var log logtest.Buffer
	dir := t.TempDir()
	url := serve(t, asrhttp.Config{
		Dir: filepath.Join(dir, "missing"), Recognizer: recognizer{}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	resp, body := post(t, url, asrtest.WAV(0), "file=@")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Equal(t, "60", resp.Header.Get("Retry-After"))
	require.NotContains(t, body, dir)
	require.Contains(t, log.String(), "the recording cannot be stored: temporary files: ")
	require.Contains(t, log.String(), dir)
}

func TestStalledUploadTimesOut(t *testing.T) {
	t.Parallel()
	rec := recognizer{f: func(context.Context, asr.Audio) (asr.Transcript, error) {
		return asr.Transcript{Text: "next"}, nil
	}}
	url := serve(t, asrhttp.Config{MaxPending: 1, ReadPause: 50 * time.Millisecond, Recognizer: rec})
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\n"+
		"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF")
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Contains(t, string(answer), "408 Request Timeout")
	require.Contains(t, string(answer), "no data received for 50ms, or too slowly")
	_, body := post(t, url, asrtest.WAV(0), "file=@")
	require.Contains(t, body, "next", "the slot is free again")
}

func TestDisconnectCancelsRecognition(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}), make(chan error)
	rec := recognizer{f: func(ctx context.Context, _ asr.Audio) (asr.Transcript, error) {
		close(entered)
		<-ctx.Done()
		ended <- ctx.Err()
		return asr.Transcript{}, ctx.Err()
	}}
	url := serve(t, asrhttp.Config{Recognizer: rec})
	client, err := local.New(local.Config{URL: url + "/v1/audio/transcriptions"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := client.Recognize(ctx, asr.FromBytes("a.wav", asrtest.WAV(time.Second)))
		done <- err
	}()
	<-entered
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.ErrorIs(t, <-done, context.Canceled)
}

// TestCanceledRequestIsNotAnEmptyTranscript: a server that stops cancels requests whose clients are
// still there.
func TestCanceledRequestIsNotAnEmptyTranscript(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	h, err := asrhttp.New(asrhttp.Config{Dir: t.TempDir(), Recognizer: recognizer{
		f: func(ctx context.Context, _ asr.Audio) (asr.Transcript, error) {
			cancel()
			return asr.Transcript{}, ctx.Err()
		},
	}})
	require.NoError(t, err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(s.Close)
	resp, body := post(t, s.URL, asrtest.WAV(0), "file=@", "response_format=text")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, body)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	require.Contains(t, body, "canceled")
}

func TestHealthAndModelsReflectTheStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status asr.Status
		code   int
		says   string
	}{
		{asr.Status{Available: true, Model: "m"}, 200, `"status":"ok"`},
		{asr.Status{Model: "m", Reason: "no disk"}, 503, `"reason":"no disk"`},
	} {
		url := serve(t, asrhttp.Config{Recognizer: recognizer{status: c.status}})
		resp, err := http.Get(url + "/health")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, c.code, resp.StatusCode)
		require.Contains(t, string(body), c.says)

		rec, err := local.New(local.Config{URL: url})
		require.NoError(t, err)
		s := rec.Check(t.Context())
		require.Equal(t, c.status.Available, s.Available)
		if c.status.Available {
			require.Equal(t, "m", s.Model)
		} else {
			require.Contains(t, s.Reason, "not ready")
		}
	}
}
