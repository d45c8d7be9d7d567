package local_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

func TestEachServerGetsTheFormItAccepts(t *testing.T) {
	t.Parallel()
	const path, post = "/v1/audio/transcriptions", "POST /v1/audio/transcriptions"
	const health, noHealth, models = "GET /health, ", "GET /health, GET /readyz, ", "GET /v1/models, "
	for _, c := range []struct {
		dialect asrtest.Dialect
		path    string
		names   string // of the parts, in order: the file is last
		model   string
		tried   string // before the first recording is accepted
	}{
		{asrtest.WhisperCPP, "/inference", "response_format file", "", health + models + post + ", " + health},
		{asrtest.WhisperCPPConvert, "/inference", "response_format file", "", health + models + post + ", " + health},
		{asrtest.WhisperCPPOld, "/inference", "response_format file", "", noHealth + post + ", POST /inference, "},
		{asrtest.OpenAI, path, "response_format model file", "tiny", noHealth + post + ", " + models},
		{asrtest.Speaches, path, "response_format model file", "tiny", health + models},
		{asrtest.VLLM, path, "response_format model file", "tiny", health + models},
		{asrtest.LocalAI, path, "response_format model file", "tiny", noHealth + models},
		{asrtest.FunASR, path, "response_format model file", "tiny", health + models},
		{asrtest.FunASRCLI, path, "response_format model file", "tiny", health + models},
		{asrtest.FunASRLlama, path, "response_format model file", "whisper-1", health + models},
		{asrtest.FunASRRecognition, "/recognition", "audio", "",
			noHealth + post + ", POST /inference, POST /recognition, "},
		{asrtest.FunASRRuntime, path, "file", "", noHealth + post + ", "},
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
				require.Equal(t, "audio.wav", req.FileName, "with the extension of the format")
				require.Equal(t, "audio/wav", req.FileType)
				require.Positive(t, req.ContentLength, "never chunked")
				require.Equal(t, c.model, req.Fields["model"])
				if c.dialect != asrtest.FunASRRecognition && c.dialect != asrtest.FunASRRuntime {
					require.Equal(t, "json", req.Fields["response_format"])
				}
			}
			again := "POST " + c.path
			all := c.tried + again + ", " + again
			require.Equal(t, all, strings.Join(s.Paths(), ", "), "one discovery")
		})
	}
}

func TestWhisperServerUnderARequestPath(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.WhisperCPP)
	target, err := url.Parse(s.URL)
	require.NoError(t, err)
	front := httptest.NewServer(http.StripPrefix("/speech", httputil.NewSingleHostReverseProxy(target)))
	defer front.Close()
	rec := connect(t, local.Config{URL: front.URL + "/speech/"})
	got, err := recognize(t, rec)
	require.NoError(t, err)
	require.Equal(t, asrtest.Heard(asrtest.WAV(time.Second)), got.Text, "the lines of the segments are joined")
	require.True(t, rec.Check(t.Context()).Available, "health is below the request path too")
}

func TestSegmentsFromEachServer(t *testing.T) {
	t.Parallel()
	for _, d := range []asrtest.Dialect{
		asrtest.WhisperCPP, asrtest.OpenAI, asrtest.Speaches, asrtest.LocalAI, asrtest.FunASR,
		asrtest.FunASRRecognition,
	} {
		s := asrtest.NewServer(t, d)
		rec := connect(t, local.Config{URL: s.URL, Segments: true})
		got, err := rec.Recognize(t.Context(), asr.FromBytes("a", asrtest.WAV(3*time.Second)))
		require.NoError(t, err, d)
		require.Len(t, got.Segments, 2, d)
		first := asr.Segment{Start: 0, End: 500 * time.Millisecond, Text: "heard 96044 bytes"}
		require.Equal(t, first, got.Segments[0], d)
		require.Equal(t, 3*time.Second, got.Duration, "%s: from the recording, not from the server", d)
	}
}

// A server that returns the times of words is asked for them; one that refuses them, for segments.
func TestTimesOfWords(t *testing.T) {
	t.Parallel()
	const segment = `"text": "We painted. Well done.", "start": 0, "end": 3`
	const words = `"words": [{"word": " We", "start": 0.1, "end": 0.2}, {"word": "painted", "start": "0.3", "end": 1},
		{"word": "Well", "start": 1.5, "end": 1.8}, {"word": " ", "end": 9},
		{"word": "done.", "start": 2, "end": 2.8}]`
	divided := []asr.Sentence{
		{Text: "We painted.", End: time.Second},
		{Text: "Well done.", Start: 1500 * time.Millisecond, End: 3 * time.Second},
	}
	whole := []asr.Sentence{{Text: "We painted. Well done.", End: 3 * time.Second}}
	for name, c := range map[string]struct {
		path, answer string
		want         []asr.Sentence
		requests     [][]string
	}{
		"beside the segments": {"/v1/audio/transcriptions",
			`"duration": "2.5", "segments": [{` + segment + `}], ` + words, divided, // the duration is as from vLLM
			[][]string{{"segment", "word"}, {"segment", "word"}}},
		"whisper.cpp, in the segments": {"/inference", `"segments": [{` + segment + `, ` + words + `}]`, divided,
			[][]string{nil, nil}},
		"refused": {"/v1/audio/transcriptions", `"segments": [{` + segment + `}]`, whole,
			[][]string{{"segment", "word"}, {"segment"}, {"segment"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests [][]string
			s := asrtest.NewCustomServer(t, func(_ *asrtest.Server, w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					http.NotFound(w, r)
					return
				}
				_ = r.ParseMultipartForm(1 << 20)
				asked := r.Form["timestamp_granularities[]"]
				if requests = append(requests, asked); name == "refused" && len(asked) == 2 {
					http.Error(w, `{"detail": "timestamp_granularities: word is unknown"}`, http.StatusBadRequest)
					return
				}
				_, _ = io.WriteString(w, `{"text": "We painted. Well done.", `+c.answer+`}`)
			})
			rec := connect(t, local.Config{URL: s.URL + c.path, Segments: true})
			for range 2 {
				got, err := recognize(t, rec)
				require.NoError(t, err)
				require.Equal(t, c.want, got.Sentences())
			}
			require.Equal(t, c.requests, requests)
		})
	}
}

// A server that refuses segments in words that cannot be understood loses no recording.
func TestRefusedSegmentsLoseNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"format":     {400, `{"error": {"message": "verbose_json is not supported"}}`},
		"named":      {400, `{"error": {"message": "timestamp_granularities: unknown field"}}`},
		"vague":      {400, `{"error": {"message": "Bad request"}}`},
		"validation": {422, `{"detail": "one field is not valid"}`},
		"vLLM":       {200, `{"text": "good", "duration": "2.5", "segments": [{"end": 1, "text": "good"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var formats []string
			s := asrtest.NewCustomServer(t, func(_ *asrtest.Server, w http.ResponseWriter, r *http.Request) {
				_ = r.ParseMultipartForm(1 << 20)
				formats = append(formats, r.FormValue("response_format"))
				if r.Form.Has("timestamp_granularities[]") {
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
					return
				}
				_, _ = io.WriteString(w, `{"text": "good morning"}`)
			})
			rec := connect(t, local.Config{URL: s.URL + "/v1/audio/transcriptions?model=m", Segments: true})
			for range 3 {
				got, err := recognize(t, rec)
				require.NoError(t, err)
				require.Equal(t, "good morning", got.Text)
			}
			want := []string{"verbose_json", "verbose_json", "json", "json", "json"}
			if name == "format" || name == "vLLM" {
				want = want[1:]
			}
			require.Equal(t, want, formats, "one repetition for each form")
		})
	}
}

// A server that fails once with a request for segments is asked for them again later.
func TestSegmentsAreRequestedAgainAfterAServerFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var failing bool
		var duration string
		var formats []string
		answer := roundTrip(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			defer r.Body.Close()
			format := r.FormValue("response_format")
			formats = append(formats, format)
			switch {
			case format != "verbose_json":
				io.WriteString(w, `{"text": "good morning"}`)
			case failing:
				http.Error(w, "Internal Server Error", http.StatusInternalServerError)
			default:
				io.WriteString(w, `{`+duration+`"text": "a", "segments": [{"end": 1, "text": "good morning"}]}`)
			}
			return w.Result(), nil
		})
		rec := connect(t, local.Config{
			URL: "http://host/v1/audio/transcriptions?model=m", Segments: true, Transport: answer,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		failing = true
		for range 2 {
			got, err := recognize(t, rec)
			require.NoError(t, err)
			require.Equal(t, "good morning", got.Text)
			require.Empty(t, got.Segments)
		}
		require.Equal(t, []string{"verbose_json", "verbose_json", "json", "json"}, formats)
		require.Contains(t, log.String(), "only text is requested")
		failing = false
		time.Sleep(11 * time.Minute)
		for range 2 {
			got, err := recognize(t, rec)
			require.NoError(t, err)
			require.NotEmpty(t, got.Segments)
		}
		require.Equal(t, []string{"verbose_json", "verbose_json"}, formats[4:])
		duration = `"duration": "1.5", `
		for range 2 {
			got, err := recognize(t, rec)
			require.NoError(t, err)
			require.Empty(t, got.Segments)
			time.Sleep(11 * time.Minute)
		}
		require.Equal(t, []string{"verbose_json", "json", "json"}, formats[6:], "what answers as vLLM stays so")
	})
}

// A recording that fails without segments as well says nothing about them.
func TestDamagedRecordingDoesNotStopRequestsForSegments(t *testing.T) {
	t.Parallel()
	s := asrtest.NewServer(t, asrtest.OpenAI)
	rec := connect(t, local.Config{URL: s.URL, Segments: true})
	s.SetFault(asrtest.Unprocessed)
	_, err := recognize(t, rec)
	require.ErrorIs(t, err, asr.ErrUnusableAudio)
	require.Len(t, s.Requests(), 3)
	s.SetFault(asrtest.TooLarge)
	_, err = recognize(t, rec)
	require.ErrorIs(t, err, asr.ErrUnusableAudio)
	require.Len(t, s.Requests(), 4, "what is too large is not sent again")
	s.SetFault(asrtest.NoFault)
	got, err := recognize(t, rec)
	require.NoError(t, err)
	require.NotEmpty(t, got.Segments)
	s.SetFault(asrtest.Unprocessed)
	_, err = recognize(t, rec)
	require.ErrorIs(t, err, asr.ErrUnusableAudio)
	require.Len(t, s.Requests(), 6, "a server that has returned segments gets a damaged recording once")
}
