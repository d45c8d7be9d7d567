package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/draw"
)

// setup is what the tests vary. The zero value draws small pictures.
type setup struct {
	gateway.Config
	generator gateway.Generator
	files     *gateway.Files
	rerun     bool
	stopped   *func() // set to a function that stops the tasks
}

// running returns a gateway whose tasks are performed until the test ends.
func running(t *testing.T, s setup) *gateway.Gateway {
	t.Helper()
	if s.generator == nil {
		s.generator = draw.Generator{LongEdge: 32}
	}
	if s.files == nil {
		s.files = openFiles(t, t.TempDir(), 0)
	}
	performer := gateway.Performer{Generator: s.generator, Files: s.files, Rerun: s.rerun, Logger: s.Logger}
	tasks := gateway.NewMemoryTasks(performer, 2)
	s.Tasks, s.Files = tasks, s.files
	if s.Keys == nil {
		keys, err := gateway.ParseKeys("me:" + key + ",other:other-key")
		require.NoError(t, err)
		s.Keys = keys
	}
	g, err := gateway.New(s.Config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tasks.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	if s.stopped != nil {
		*s.stopped = cancel
	}
	return g
}

func openFiles(t *testing.T, dir string, limit int64) *gateway.Files {
	t.Helper()
	f, err := gateway.OpenFiles(dir, limit)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func config(mode gateway.Mode) gateway.Config { return gateway.Config{Mode: mode} }

type answer struct {
	*httptest.ResponseRecorder
	body map[string]any
}

func (a answer) errorCode() string {
	e, _ := a.body["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

func (a answer) data() map[string]any { d, _ := a.body["data"].(map[string]any); return d }

// send sends a request after edit, if not nil, has changed it.
func send(t *testing.T, h http.Handler, method, path, body string, edit func(*http.Request)) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(r)
	}
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(a, r)
	if strings.HasPrefix(a.Header().Get("Content-Type"), "application/json") {
		require.NoError(t, json.Unmarshal(a.Body.Bytes(), &a.body))
		require.Equal(t, fmt.Sprint(a.Body.Len()), a.Header().Get("Content-Length"))
	}
	return a
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

const generations, edits = "/v1/images/generations", "/v1/images/edits"

func form(t *testing.T, write func(w *multipart.Writer)) (body string, kind func(*http.Request)) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	write(w)
	require.NoError(t, w.Close())
	return b.String(), header("Content-Type", w.FormDataContentType())
}

func file(w *multipart.Writer, name, kind, data string) {
	p, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + name +
		`"; filename="a.png"`}, "Content-Type": {kind}})
	_, _ = io.WriteString(p, data)
}

func TestInvalidRequestsAreExplained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, setup{Config: gateway.Config{PerMinute: 1e6}})
		for name, test := range map[string]struct {
			body, code, param string
			status            int
		}{
			"not JSON":        {"prompt", "invalid_json", "", 400},
			"an array":        {"[1]", "invalid_json", "", 400},
			"no prompt":       {`{}`, "missing", "prompt", 400},
			"blank prompt":    {`{"prompt":" "}`, "missing", "prompt", 400},
			"not UTF-8":       {"{\"prompt\":\"caf\xe9\"}", "not_utf8", "prompt", 400},
			"prompt a number": {`{"prompt":5}`, "invalid_type", "prompt", 400},
			"long prompt":     {`{"prompt":"` + strings.Repeat("x", 33_000) + `"}`, "too_long", "prompt", 400},
			"n zero":          {`{"prompt":"x","n":0}`, "out_of_range", "n", 400},
			"n large":         {`{"prompt":"x","n":9}`, "out_of_range", "n", 400},
			"n a half":        {`{"prompt":"x","n":1.5}`, "out_of_range", "n", 400},
			"unknown size":    {`{"prompt":"x","size":"7:5"}`, "invalid_size", "size", 400},
			"no pixels":       {`{"prompt":"x","size":"1024x0"}`, "invalid_size", "size", 400},
			"many pixels":     {`{"prompt":"x","size":"1024x99999999999999999999"}`, "invalid_size", "size", 400},
			"size a number":   {`{"prompt":"x","size":1024}`, "invalid_type", "size", 400},
			"lossy output": {`{"prompt":"x","output_compression":50}`, "unsupported_value", "output_compression",
				400},
			"stream":    {`{"prompt":"x","stream":true}`, "unsupported_value", "stream", 400},
			"quality":   {`{"prompt":"x","quality":"high"}`, "unsupported_value", "quality", 400},
			"webp":      {`{"prompt":"x","output_format":"webp"}`, "unsupported_value", "output_format", 400},
			"an object": {`{"prompt":"x","svg":{"model":"m"}}`, "invalid_type", "svg", 400},
			"unknown":   {`{"prompt":"x","seed":7}`, "unknown_parameter", "seed", 400},
			"long name": {`{"prompt":"x","` + strings.Repeat("y", 9000) + `":7}`, "unknown_parameter",
				strings.Repeat("y", 64), 400},
			"long model": {`{"prompt":"x","model":"` + strings.Repeat("y", 9000) + `"}`, "too_long", "model", 400},
			"long size":  {`{"prompt":"x","size":"` + strings.Repeat("y", 999) + `"}`, "invalid_size", "size", 400},
			"huge":       {`{"prompt":"` + strings.Repeat("x", 2<<20) + `"}`, "too_large", "", 413},
		} {
			a := send(t, h, "POST", generations, test.body, nil)
			require.Equal(t, test.status, a.Code, name)
			require.Equal(t, test.code, a.errorCode(), name)
			param, _ := a.body["error"].(map[string]any)["param"].(string)
			require.Equal(t, test.param, param, name)
			require.Less(t, a.Body.Len(), 1000, name)
		}
		for name, test := range map[string]struct {
			write  func(w *multipart.Writer)
			code   string
			status int
		}{
			"no image":  {func(w *multipart.Writer) { _ = w.WriteField("prompt", "x") }, "missing", 400},
			"no prompt": {func(w *multipart.Writer) { file(w, "image[]", "image/png", "x") }, "missing", 400},
			"mask":      {func(w *multipart.Writer) { file(w, "mask", "image/png", "x") }, "unknown_file", 400},
			"unknown":   {func(w *multipart.Writer) { _ = w.WriteField("frames", "9") }, "unknown_parameter", 400},
			"stream":    {func(w *multipart.Writer) { _ = w.WriteField("stream", "true") }, "unsupported_value", 400},
			"not an image": {func(w *multipart.Writer) { file(w, "image[]", "application/octet-stream", "x") },
				"not_an_image", 400},
			"not an image without a type": {func(w *multipart.Writer) { file(w, "image", "", "<html>") },
				"not_an_image", 400},
			"empty image": {func(w *multipart.Writer) { file(w, "image[]", "image/png", "") }, "not_an_image",
				400},
			"image too large": {func(w *multipart.Writer) {
				file(w, "image[]", "image/png", strings.Repeat("x", 50_000_001))
			}, "too_large", 413},
			"too many images": {func(w *multipart.Writer) {
				for range 17 {
					file(w, "image[]", "image/png", "x")
				}
			}, "too_many_images", 400},
			"prompt twice": {func(w *multipart.Writer) {
				_ = w.WriteField("prompt", "x")
				_ = w.WriteField("prompt", "y")
			}, "repeated", 400},
			"long form prompt": {func(w *multipart.Writer) { _ = w.WriteField("prompt", strings.Repeat("x", 33_000)) },
				"too_long", 400},
		} {
			body, kind := form(t, test.write)
			a := send(t, h, "POST", edits, body, kind)
			require.Equal(t, test.status, a.Code, name)
			require.Equal(t, test.code, a.errorCode(), name)
		}
		body, kind := form(t, func(w *multipart.Writer) { file(w, "image[]", "image/png", strings.Repeat("x", 900)) })
		require.Equal(t, "unreadable", send(t, h, "POST", edits, body[:500], kind).errorCode())
		require.Equal(t, 415, send(t, h, "POST", edits, "{}", nil).Code)
		require.Equal(t, 415, send(t, h, "POST", generations, "{}", header("Content-Type", "text/plain")).Code)
		require.Equal(t, 404, send(t, h, "GET", "/v2", "", nil).Code)
		a := send(t, h, "DELETE", generations, "", nil)
		require.Equal(t, 405, a.Code)
		require.Equal(t, "POST", a.Header().Get("Allow"))
	})
}

func TestRefusedEditsLeaveNoFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		h := running(t, setup{files: openFiles(t, path, 0)})
		body, kind := form(t, func(w *multipart.Writer) {
			file(w, "image[]", "image/png", string(pngHead))
			for range 2 { // a form may contain thousands of ignored fields: they are not held
				_ = w.WriteField("image_urls", strings.Repeat("x", 33_000))
			}
			_ = w.WriteField("prompt", "x")
			_ = w.WriteField("size", "7:5")
		})
		require.Equal(t, "invalid_size", send(t, h, "POST", edits, body, kind).errorCode())
		require.Empty(t, files(t, path))
		body = strings.Replace(body, "7:5", "3:4", 1)
		require.Equal(t, 200, send(t, h, "POST", edits, body, kind).Code)
		require.Len(t, files(t, path), 1, "the image; its reference is no longer needed")
	})
}

func files(t *testing.T, path string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(path)
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(e os.DirEntry) bool { return e.Name() == ".lock" })
}
