package local_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// One row for each server: where the recording goes and in which form.
func TestEachServerGetsTheFormItTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect asrtest.Dialect
		path    string
		names   string // of the parts, in order: the file comes last
		model   string
		tried   string // what was asked first, to find out
	}{
		{asrtest.WhisperCPP, "/inference", "response_format file", "", "POST /v1/audio/transcriptions, POST /inference"},
		{asrtest.WhisperCPPConvert, "/inference", "response_format file", "", "POST /v1/audio/transcriptions, POST /inference"},
		{asrtest.WhisperCPPOld, "/inference", "response_format file", "", "POST /v1/audio/transcriptions, POST /inference"},
		{asrtest.OpenAI, "/v1/audio/transcriptions", "response_format model file", "tiny", "POST /v1/audio/transcriptions, GET /v1/models"},
		{asrtest.Speaches, "/v1/audio/transcriptions", "response_format model file", "tiny", "POST /v1/audio/transcriptions, GET /v1/models"},
		{asrtest.VLLM, "/v1/audio/transcriptions", "response_format model file", "tiny", "POST /v1/audio/transcriptions, GET /v1/models"},
		{asrtest.LocalAI, "/v1/audio/transcriptions", "response_format model file", "tiny", "POST /v1/audio/transcriptions, GET /v1/models"},
		{asrtest.FunASR, "/v1/audio/transcriptions", "response_format model file", "tiny", "POST /v1/audio/transcriptions, GET /v1/models"},
		{asrtest.FunASRCLI, "/v1/audio/transcriptions", "response_format model file", "tiny", "POST /v1/audio/transcriptions, GET /v1/models"},
		{asrtest.FunASRLlama, "/v1/audio/transcriptions", "response_format model file", "whisper-1", "POST /v1/audio/transcriptions, GET /v1/models"},
		{asrtest.FunASRRecognition, "/recognition", "audio", "", "POST /v1/audio/transcriptions, POST /inference, POST /recognition"},
		{asrtest.FunASRRuntime, "/v1/audio/transcriptions", "file", "", "POST /v1/audio/transcriptions"},
	} {
		t.Run(string(c.dialect), func(t *testing.T) {
			t.Parallel()
			s := asrtest.NewServer(t, c.dialect)
			rec := connect(t, local.Config{URL: s.URL})
			for range 2 {
				_, err := rec.Recognize(t.Context(), asr.FromBytes("Lesson ü.bin", asrtest.WAV(time.Second)))
				require.NoError(t, err)
			}
			require.Len(t, s.Requests(), 2)
			for _, req := range s.Requests() {
				require.Equal(t, c.path, req.Path)
				require.Equal(t, c.names, strings.Join(req.Names, " "))
				require.Equal(t, "audio.wav", req.FileName, "plain, and with the ending of the format")
				require.Equal(t, "audio/wav", req.FileType)
				require.Positive(t, req.ContentLength, "never chunked")
				require.Equal(t, c.model, req.Fields["model"])
				if c.dialect != asrtest.FunASRRecognition && c.dialect != asrtest.FunASRRuntime {
					require.Equal(t, "json", req.Fields["response_format"])
				}
			}
			again := "POST " + c.path
			require.Equal(t, c.tried+", "+again+", "+lastModels(c.dialect)+again, strings.Join(s.Paths(), ", "), "found out once")
		})
	}
}

// lastModels is the question that is repeated where a server lists no models: it may have one by then.
func lastModels(d asrtest.Dialect) string {
	if d == asrtest.FunASRLlama {
		return "GET /v1/models, "
	}
	return ""
}

func TestWhisperServerUnderARequestPath(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.WhisperCPP)
	mux := http.NewServeMux()
	mux.Handle("/speech/", http.StripPrefix("/speech", forward(s.URL)))
	front := httptest.NewServer(mux)
	defer front.Close()
	rec := connect(t, local.Config{URL: front.URL + "/speech/"})
	got, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
	require.NoError(t, err)
	require.Equal(t, asrtest.Heard(asrtest.WAV(time.Second)), got.Text, "one line for each segment becomes one text")
	require.True(t, rec.Check(t.Context()).Available, "health is below the request path too")
}

// forward hands requests to another server as they are.
func forward(url string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, url+r.URL.Path, r.Body)
		req.Header, req.ContentLength = r.Header, r.ContentLength
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})
}

func TestSegmentsAreAskedForAndReadFromEachServer(t *testing.T) {
	t.Parallel()
	with := []asrtest.Dialect{asrtest.WhisperCPP, asrtest.OpenAI, asrtest.Speaches, asrtest.LocalAI, asrtest.FunASR, asrtest.FunASRRecognition}
	for _, d := range with {
		s := asrtest.NewServer(t, d)
		got, err := connect(t, local.Config{URL: s.URL, Segments: true}).Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(3*time.Second)))
		require.NoError(t, err, d)
		require.Len(t, got.Segments, 2, d)
		require.Equal(t, asr.Segment{Start: 0, End: 500 * time.Millisecond, Text: "heard 96044 bytes"}, got.Segments[0], d)
		require.Equal(t, 3*time.Second, got.Duration, "%s: by the recording's header, for one server puts its working time there", d)
	}
	s := asrtest.NewServer(t, asrtest.VLLM)
	rec := connect(t, local.Config{URL: s.URL, Segments: true})
	for range 2 {
		got, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
		require.NoError(t, err)
		require.Empty(t, got.Segments)
	}
	var formats []string
	for _, r := range s.Requests() {
		formats = append(formats, r.Fields["response_format"])
	}
	require.Equal(t, []string{"verbose_json", "json", "json"}, formats, "what a model refuses is not asked for again")
}

func TestVerboseNumbersMayBeStrings(t *testing.T) {
	t.Parallel()
	rec := connect(t, local.Config{URL: fixed(t, 200, `{"text":"a b","duration":"2.5","segments":[{"start":"0.5","end":1,"text":"a","speaker":3},{"start":1,"end":null,"text":"b"}]}`)})
	got, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
	require.NoError(t, err)
	require.Equal(t, []asr.Segment{{Start: 500 * time.Millisecond, End: time.Second, Text: "a", Speaker: "3"}, {Start: time.Second, Text: "b"}}, got.Segments)
}

// fixed is a server that answers every recording in the same way.
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

// One row for each kind of answer, and what a queue should make of it.
func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	tomorrow := time.Now().Add(40 * time.Minute).UTC().Format(http.TimeFormat)
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
		{"408", 408, "", nil, asr.ErrUnavailable, false, 1, ""},
		{"425", 425, "", nil, asr.ErrUnavailable, false, 1, ""},
		{"429", 429, "slow down", nil, asr.ErrUnavailable, false, 1, "slow down"},
		{"429 with seconds", 429, "", []string{"Retry-After", "33"}, asr.ErrUnavailable, false, 33 * time.Second, ""},
		{"503 with a date", 503, "", []string{"Retry-After", tomorrow}, asr.ErrUnavailable, false, 39 * time.Minute, ""},
		{"503 with nonsense", 503, "", []string{"Retry-After", "soon"}, asr.ErrUnavailable, false, 1, ""},
		{"499", 499, "", nil, asr.ErrUnavailable, false, 1, ""},
		{"502 with a page", 502, "<html><body>nginx</body></html>", nil, asr.ErrUnavailable, false, 1, "an HTML page"},
		{"503", 503, "", nil, asr.ErrUnavailable, false, 1, ""},
		{"504", 504, "", nil, asr.ErrUnavailable, false, 20 * time.Second, ""},
		{"404", 404, "", nil, asr.ErrMisconfigured, false, 1, "does not have the endpoint"},
		{"405", 405, "", nil, asr.ErrMisconfigured, false, 1, ""},
		{"401", 401, `{"detail":"who are you"}`, nil, asr.ErrMisconfigured, false, 1, "key is missing or wrong: who are you"},
		{"403", 403, "", nil, asr.ErrMisconfigured, false, 1, "key"},
		{"400 that names the model", 400, `{"detail":"Model 'm' not found. Available: ['sensevoice']"}`, nil, asr.ErrMisconfigured, false, 1, "Available"},
		{"404 that names the model", 404, `{"detail":"Model m is not installed locally."}`, nil, asr.ErrMisconfigured, false, 1, "not installed"},
		{"301", 301, "", []string{"Location", "/x"}, asr.ErrMisconfigured, false, 1, "redirects"},
		{"302", 302, "", []string{"Location", "/x"}, asr.ErrMisconfigured, false, 1, "redirects"},
		{"307", 307, "", []string{"Location", "/x"}, asr.ErrMisconfigured, false, 1, "redirects"},
		{"308", 308, "", []string{"Location", "/x"}, asr.ErrMisconfigured, false, 1, "redirects"},
		{"402", 402, "", nil, asr.ErrRefused, false, 1, ""},
		{"400", 400, "Invalid request", nil, asr.ErrUnusableAudio, true, 0, "Invalid request"},
		{"413", 413, `{"error":"15 MB"}`, nil, asr.ErrUnusableAudio, true, 0, "15 MB"},
		{"415", 415, `{"detail":"Failed to decode audio"}`, nil, asr.ErrUnusableAudio, true, 0, "Failed to decode audio"},
		{"422", 422, `{"detail":[{"loc":["body","file"],"msg":"cannot be read"}]}`, nil, asr.ErrUnusableAudio, true, 0, "body.file: cannot be read"},
		{"500", 500, `{"error":{"message":"CUDA"}}`, nil, nil, false, 0, "CUDA"},
		{"500 for garbage", 500, `{"error":"FFmpeg conversion failed."}`, nil, nil, false, 0, "FFmpeg conversion failed."},
		{"200 with an error", 200, `{"error":"failed to read audio data"}`, nil, nil, false, 0, "failed to read audio data"},
		{"200 with an error and a text", 200, `{"error":{"message":"x"},"text":""}`, nil, nil, false, 0, "x"},
		{"200 with a code", 200, `{"code":5,"msg":"engine"}`, nil, nil, false, 0, "engine"},
		{"200 with a page", 200, "<!doctype html>", nil, nil, false, 0, "not JSON"},
		{"200 with nothing", 200, "", nil, nil, false, 0, "not JSON"},
		{"200 with a list", 200, "[]", nil, nil, false, 0, "not JSON"},
		{"200 without text", 200, `{"txt":"a"}`, nil, nil, false, 0, "no text"},
		{"200 with a text that is none", 200, `{"text":[1]}`, nil, nil, false, 0, "cannot be read"},
		{"418", 418, "", nil, asr.ErrMisconfigured, false, 1, ""},
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

func TestSuccessesInEveryForm(t *testing.T) {
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
		got, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
		if strings.HasPrefix(body, "\ufeff") {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, body)
		require.Equal(t, text, got.Text)
	}
}

func TestModelIsChosenFromTheList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, list, want string }{
		{"ready", `{"data":[{"id":"a","ready":false},{"id":"b","ready":true}]}`, "b"},
		{"by task", `{"data":[{"id":"tts","task":"text-to-speech"},{"id":"asr","task":"automatic-speech-recognition"}]}`, "asr"},
		{"first", `{"data":[{"id":"one"},{"id":"two"}]}`, "one"},
		{"empty", `{"data":[]}`, "whisper-1"},
		{"nonsense", `<html>`, "whisper-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got string
			mux := http.NewServeMux()
			mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(c.list)) })
			mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
				got = r.FormValue("model")
				_, _ = w.Write([]byte(`{"text":""}`))
			})
			s := httptest.NewServer(mux)
			defer s.Close()
			tr, err := connect(t, local.Config{URL: s.URL}).Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.want, tr.Model)
		})
	}
}

func TestServerThatChangesItsModelIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, d := range []asrtest.Dialect{asrtest.OpenAI, asrtest.Speaches, asrtest.FunASR, asrtest.LocalAI, asrtest.VLLM} {
		s := asrtest.NewServer(t, d)
		rec := connect(t, local.Config{URL: s.URL})
		_, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
		require.NoError(t, err)
		s.SetModels("large")
		got, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
		require.NoError(t, err, d)
		require.Equal(t, "large", got.Model)

		_, err = connect(t, local.Config{URL: s.URL, Model: "gone"}).Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
		require.ErrorIs(t, err, asr.ErrMisconfigured, "a configured model is not replaced")
	}
}

func TestServerThatIsReplacedByAnotherIsFoundAgain(t *testing.T) {
	t.Parallel()
	path := "/v1/audio/transcriptions"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		if _, _, err := r.FormFile("file"); err != nil {
			http.Error(w, "no file", 400)
			return
		}
		_, _ = w.Write([]byte(`{"text":"x"}`))
	}))
	defer s.Close()
	rec := connect(t, local.Config{URL: s.URL, Model: "m"})
	for _, path = range []string{"/v1/audio/transcriptions", "/inference"} {
		_, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
		require.NoError(t, err)
	}
}

func TestDiscoveryReadsTheAnswersToAFormWithoutAudio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  error // nil: the endpoint is taken to be there
	}{
		{"400", 400, "no file", nil},
		{"422", 422, "{}", nil},
		{"415", 415, "", nil},
		{"500", 500, "", nil},
		{"200 with an error", 200, `{"error":"no 'file' field"}`, nil},
		{"401", 401, "", asr.ErrMisconfigured},
		{"403", 403, "", asr.ErrMisconfigured},
		{"302", 302, "", asr.ErrMisconfigured},
		{"502", 502, "", asr.ErrUnavailable},
		{"503", 503, "", asr.ErrUnavailable},
		{"404", 404, "", asr.ErrMisconfigured},
		{"405", 405, "", asr.ErrMisconfigured},
		{"501", 501, "", asr.ErrMisconfigured},
		{"a page for everything", 200, "<!DOCTYPE html>", asr.ErrMisconfigured},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, _, err := r.FormFile("file"); err == nil && c.class == nil {
					_, _ = w.Write([]byte(`{"text":"x"}`))
					return
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer s.Close()
			_, err := connect(t, local.Config{URL: s.URL, Model: "m"}).Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
			if c.class == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.class)
			if c.status == 404 {
				require.ErrorContains(t, err, "tried "+s.URL+"/v1/audio/transcriptions, "+s.URL+"/inference, "+s.URL+"/recognition")
			}
		})
	}
}

func TestHealthOfEachServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect   asrtest.Dialect
		fault     asrtest.Fault
		models    []string
		model     string
		available bool
		reason    string
	}{
		{asrtest.WhisperCPP, "", nil, "", true, ""},
		{asrtest.WhisperCPP, asrtest.Loading, nil, "", true, ""}, // its health is 404 then and for ever after a failed /load; the endpoint is there
		{asrtest.WhisperCPPOld, "", nil, "", true, ""},           // no health at all
		{asrtest.OpenAI, "", []string{"m"}, "", true, ""},
		{asrtest.Speaches, "", []string{"m"}, "", true, ""},
		{asrtest.Speaches, "", []string{}, "", false, "lists no model"}, // healthy with nothing downloaded
		{asrtest.Speaches, "", []string{"m"}, "other", false, "does not list the model"},
		{asrtest.VLLM, "", []string{"m"}, "m", true, ""},
		{asrtest.VLLM, asrtest.Loading, []string{"m"}, "", false, "not ready"},
		{asrtest.LocalAI, "", []string{"m"}, "", true, ""},
		{asrtest.LocalAI, asrtest.Loading, []string{"m"}, "", false, "not ready"},
		{asrtest.FunASR, "", []string{"m"}, "", true, ""},
		{asrtest.FunASR, asrtest.Loading, []string{"m"}, "", false, "no model is loaded"},
		{asrtest.FunASRCLI, "", []string{"m"}, "", true, ""},
		{asrtest.FunASRLlama, "", nil, "", true, ""},
		{asrtest.FunASRRecognition, "", nil, "", true, ""}, // neither health nor models
		{asrtest.FunASRRuntime, "", nil, "", true, ""},
	} {
		t.Run(string(c.dialect)+"/"+string(c.fault)+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			s := asrtest.NewServer(t, c.dialect)
			s.SetFault(c.fault)
			if c.models != nil {
				s.SetModels(c.models...)
			}
			rec := connect(t, local.Config{URL: s.URL, Model: c.model})
			require.Equal(t, "not checked yet", rec.Status(t.Context()).Reason)
			got := rec.Check(t.Context())
			require.Equal(t, c.available, got.Available, got.Reason)
			require.Contains(t, got.Reason, c.reason)
			require.Equal(t, got, rec.Status(t.Context()))
			for _, r := range s.Requests() {
				require.Zero(t, r.Size, "a check sends no audio")
			}
			if c.available && len(c.models) > 0 {
				require.Equal(t, "m", got.Model)
			}
		})
	}
}

func TestStatusFollowsTheRecordings(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.OpenAI)
	rec := connect(t, local.Config{URL: s.URL})
	_, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
	require.NoError(t, err)
	require.True(t, rec.Status(t.Context()).Available, "a recording that succeeds is the best check")

	s.SetFault(asrtest.Unauthorized)
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
	require.ErrorIs(t, err, asr.ErrMisconfigured)
	require.False(t, rec.Check(t.Context()).Available, "a server that says it is healthy does not outweigh a wrong key")

	s.SetFault(asrtest.NoFault)
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
	require.NoError(t, err)
	require.True(t, rec.Check(t.Context()).Available)

	s.Close()
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
	require.ErrorIs(t, err, asr.ErrUnavailable)
	require.False(t, rec.Status(t.Context()).Available)
	require.Contains(t, rec.Status(t.Context()).Reason, "no answer from the server")
	require.NotContains(t, rec.Status(t.Context()).Reason, "/v1/audio")
}

// slowTransport answers recordings when it is told to, and health never.
type slowTransport struct{ release chan struct{} }

func (s slowTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if r.Method == http.MethodGet {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	select {
	case <-s.release:
		w := httptest.NewRecorder()
		_, _ = w.WriteString(`{"text":"x"}`)
		return w.Result(), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func TestServerThatAnswersNothingWhileItWorksIsAvailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := slowTransport{make(chan struct{})}
		rec := connect(t, local.Config{URL: "http://127.0.0.1:1/v1/audio/transcriptions?model=m", Transport: transport})
		require.False(t, rec.Check(t.Context()).Available)
		require.Contains(t, rec.Status(t.Context()).Reason, "no answer within 2s")
		done := make(chan error)
		go func() {
			_, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(time.Second)))
			done <- err
		}()
		synctest.Wait()
		require.True(t, rec.Check(t.Context()).Available, "one of our recordings is running")
		close(transport.release)
		require.NoError(t, <-done)
		time.Sleep(4 * time.Minute)
		require.True(t, rec.Check(t.Context()).Available, "one succeeded lately")
		time.Sleep(2 * time.Minute)
		require.False(t, rec.Check(t.Context()).Available)
	})
}

func TestRunChecksUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked int
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			w := httptest.NewRecorder()
			switch {
			case r.URL.Path == "/health" && asked > 4:
				w.WriteHeader(503)
			case r.URL.Path != "/health":
				w.WriteHeader(404)
			}
			return w.Result(), nil
		})
		rec := connect(t, local.Config{URL: "http://recogniser/v1/audio/transcriptions", Transport: transport})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- rec.Run(ctx) }()
		synctest.Wait()
		require.True(t, rec.Status(ctx).Available)
		first := rec.Status(ctx).CheckedAt
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.Equal(t, 15*time.Second, rec.Status(ctx).CheckedAt.Sub(first))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.False(t, rec.Status(ctx).Available)
		cancel()
		require.NoError(t, <-done)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
