package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/draw"
)

// running returns a gateway that runs.
func running(t *testing.T, c gateway.Config) http.Handler {
	t.Helper()
	if c.Generator == nil {
		c.Generator = draw.New(draw.Config{LongEdge: 32})
	}
	keys, err := gateway.StaticKeys(map[string]string{"me": key, "other": "other-key"})
	require.NoError(t, err)
	c.Keys = keys
	g, err := gateway.New(c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	synctest.Wait()
	return g
}

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

// send sends one request; edit changes it before.
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

const generations, edits = "/v1/images/generations", "/v1/images/edits"

func form(t *testing.T, write func(w *multipart.Writer)) (body string, kind func(*http.Request)) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	write(w)
	require.NoError(t, w.Close())
	return b.String(), func(r *http.Request) { r.Header.Set("Content-Type", w.FormDataContentType()) }
}

func file(w *multipart.Writer, name, kind, data string) {
	p, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + name + `"; filename="a.png"`}, "Content-Type": {kind}})
	_, _ = io.WriteString(p, data)
}

func TestBadRequestsSayWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, gateway.Config{Model: "svc-image-2", Limits: gateway.Limits{PerMinute: 1e6, Burst: 1000, Refs: 2, RefBytes: 1000, PromptBytes: 100}})
		for name, test := range map[string]struct {
			body, code, param string
			status            int
		}{
			"not JSON":        {"prompt", "invalid_json", "", 400},
			"an array":        {"[1]", "invalid_json", "", 400},
			"no prompt":       {`{}`, "missing", "prompt", 400},
			"blank prompt":    {`{"prompt":" "}`, "missing", "prompt", 400},
			"prompt a number": {`{"prompt":5}`, "invalid_type", "prompt", 400},
			"long prompt":     {`{"prompt":"` + strings.Repeat("x", 101) + `"}`, "too_long", "prompt", 400},
			"n zero":          {`{"prompt":"x","n":0}`, "out_of_range", "n", 400},
			"n large":         {`{"prompt":"x","n":9}`, "out_of_range", "n", 400},
			"n a half":        {`{"prompt":"x","n":1.5}`, "out_of_range", "n", 400},
			"unknown size":    {`{"prompt":"x","size":"1024x1024"}`, "invalid_size", "size", 400},
			"unknown model":   {`{"prompt":"x","model":"other"}`, "unknown_model", "model", 400},
			"huge":            {`{"prompt":"` + strings.Repeat("x", 2<<20) + `"}`, "too_large", "", 413},
		} {
			a := send(t, h, "POST", generations, test.body, nil)
			require.Equal(t, test.status, a.Code, name)
			require.Equal(t, test.code, a.errorCode(), name)
			param, _ := a.body["error"].(map[string]any)["param"].(string)
			require.Equal(t, test.param, param, name)
		}
		for name, test := range map[string]struct {
			write  func(w *multipart.Writer)
			code   string
			status int
		}{
			"no image":        {func(w *multipart.Writer) { _ = w.WriteField("prompt", "x") }, "missing", 400},
			"no prompt":       {func(w *multipart.Writer) { file(w, "image[]", "image/png", "x") }, "missing", 400},
			"other name":      {func(w *multipart.Writer) { file(w, "image", "image/png", "x") }, "unknown_file", 400},
			"not an image":    {func(w *multipart.Writer) { file(w, "image[]", "application/octet-stream", "x") }, "not_an_image", 400},
			"empty image":     {func(w *multipart.Writer) { file(w, "image[]", "image/png", "") }, "not_an_image", 400},
			"image too large": {func(w *multipart.Writer) { file(w, "image[]", "image/png", strings.Repeat("x", 1001)) }, "too_large", 413},
			"too many images": {func(w *multipart.Writer) {
				for range 3 {
					file(w, "image[]", "image/png", "x")
				}
			}, "too_many_images", 400},
			"prompt twice":     {func(w *multipart.Writer) { _ = w.WriteField("prompt", "x"); _ = w.WriteField("prompt", "y") }, "repeated", 400},
			"long form prompt": {func(w *multipart.Writer) { _ = w.WriteField("prompt", strings.Repeat("x", 101)) }, "too_long", 400},
		} {
			body, kind := form(t, test.write)
			a := send(t, h, "POST", edits, body, kind)
			require.Equal(t, test.status, a.Code, name)
			require.Equal(t, test.code, a.errorCode(), name)
		}
		body, kind := form(t, func(w *multipart.Writer) { file(w, "image[]", "image/png", strings.Repeat("x", 900)) })
		require.Equal(t, "unreadable", send(t, h, "POST", edits, body[:500], kind).errorCode())
		require.Equal(t, 415, send(t, h, "POST", edits, "{}", nil).Code)
		require.Equal(t, 415, send(t, h, "POST", generations, "{}", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }).Code)
		require.Equal(t, 404, send(t, h, "GET", "/v2", "", nil).Code)
		a := send(t, h, "DELETE", generations, "", nil)
		require.Equal(t, 405, a.Code)
		require.Equal(t, "POST", a.Header().Get("Allow"))
	})
}

func TestRefusedEditsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		h := running(t, gateway.Config{Store: openDir(t, path)})
		body, kind := form(t, func(w *multipart.Writer) {
			file(w, "image[]", "image/png", string(pngHead))
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
	all, err := os.ReadDir(filepath.Join(path, "blobs"))
	require.NoError(t, err)
	return all
}

func TestImageURLsAreIgnoredOnGenerations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, gateway.Config{})
		a := send(t, h, "POST", generations, `{"prompt":"x","image_urls":["http://127.0.0.1/secret"],"size":"2:1"}`, nil)
		require.Equal(t, 200, a.Code)
		items := a.body["data"].([]any)
		require.Len(t, items, 1)
		_, err := base64.StdEncoding.DecodeString(items[0].(map[string]any)["b64_json"].(string))
		require.NoError(t, err)
		require.Contains(t, a.body["usage"], "input_tokens_details")
	})
}

func TestSignedAddresses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, gateway.Config{Mode: gateway.Async, PublicURL: "https://img.example/below/"})
		id := send(t, h, "POST", generations, `{"prompt":"x"}`, nil).data()["id"].(string)
		synctest.Wait()
		address := func() string {
			images := send(t, h, "GET", "/v1/tasks/"+id, "", nil).data()["result"].(map[string]any)["images"].([]any)
			return images[0].(map[string]any)["url"].([]any)[0].(string)
		}
		url := address()
		require.True(t, strings.HasPrefix(url, "https://img.example/below/v1/files/"), url)
		path := strings.TrimPrefix(url, "https://img.example/below")
		open := func(r *http.Request) { r.Header.Del("Authorization") }
		a := send(t, h, "GET", path, "", open)
		require.Equal(t, 200, a.Code)
		require.Equal(t, "image/png", a.Header().Get("Content-Type"))
		require.Equal(t, "nosniff", a.Header().Get("X-Content-Type-Options"))
		part := send(t, h, "GET", path, "", func(r *http.Request) { open(r); r.Header.Set("Range", "bytes=0-3") })
		require.Equal(t, "\x89PNG", part.Body.String())
		require.Equal(t, 200, send(t, h, "HEAD", path, "", open).Code)
		for _, bad := range []string{strings.Replace(path, "until=9", "until=99", 1), strings.Replace(path, id, "x"+id, 1), path + "0", strings.Split(path, "?")[0]} {
			require.Equal(t, "bad_signature", send(t, h, "GET", bad, "", open).errorCode(), bad)
		}
		time.Sleep(time.Hour + time.Second)
		require.Equal(t, "expired", send(t, h, "GET", path, "", open).errorCode())
		require.NotEqual(t, url, address())
		time.Sleep(25 * time.Hour)
		require.Equal(t, 404, send(t, h, "GET", "/v1/tasks/"+id, "", nil).Code, "its retention is over")
	})
}

func TestOpenAPIDescribesWhatIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, gateway.Config{})
		a := send(t, h, "GET", "/openapi.json", "", func(r *http.Request) { r.Header.Del("Authorization") })
		require.Equal(t, "3.1.0", a.body["openapi"])
		paths := a.body["paths"].(map[string]any)
		require.Len(t, paths, 5)
		for path, item := range paths {
			for method := range item.(map[string]any) {
				other := map[string]string{"get": "POST", "post": "GET"}[method]
				got := send(t, h, other, strings.NewReplacer("{id}", "x", "{name}", "x").Replace(path), "", nil)
				require.Equal(t, 405, got.Code, path)
				require.Equal(t, strings.ToUpper(method), got.Header().Get("Allow"))
			}
		}
		var sizes []string
		for r := range imagegen.Ratios() {
			sizes = append(sizes, string(r))
		}
		var doc struct {
			Paths map[string]map[string]struct {
				RequestBody struct {
					Content map[string]struct {
						Schema struct {
							Properties struct{ Size struct{ Enum []string } }
						}
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal(a.Body.Bytes(), &doc))
		for path, kind := range map[string]string{generations: "application/json", edits: "multipart/form-data"} {
			require.True(t, slices.Equal(sizes, doc.Paths[path]["post"].RequestBody.Content[kind].Schema.Properties.Size.Enum), path)
		}
		for _, ref := range strings.Split(a.Body.String(), `"$ref": "#/components/schemas/`)[1:] {
			name, _, _ := strings.Cut(ref, `"`)
			require.Contains(t, a.body["components"].(map[string]any)["schemas"], name)
		}
	})
}

// large makes images of 24 MiB without holding them, and reads its references.
type large struct{ refs int64 }

func (l *large) Generate(ctx context.Context, r *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error) {
	for _, ref := range r.Refs {
		f, err := ref.Open()
		if err != nil {
			return nil, err
		}
		n, err := io.Copy(io.Discard, f)
		f.Close()
		if err != nil {
			return nil, err
		}
		l.refs += n
	}
	res := &imagegen.Result{}
	for i := range 2 {
		b, err := sink.Open(ctx, imagegen.Info{Index: i, Type: "image/png", Ext: ".png"})
		if err != nil {
			return nil, err
		}
		block := bytes.Repeat([]byte("x"), 64<<10)
		for range 24 << 4 {
			if _, err := b.Write(block); err != nil {
				return nil, err
			}
		}
		if err := b.Commit(); err != nil {
			return nil, err
		}
		res.Images = append(res.Images, imagegen.Info{Index: i})
	}
	return res, nil
}

// sink drops an answer and counts it.
type discard struct {
	http.ResponseWriter
	n int64
}

func (d *discard) Write(p []byte) (int, error) { d.n += int64(len(p)); return len(p), nil }

func TestUploadsAndImagesStream(t *testing.T) {
	g := &large{}
	store, err := gateway.Dir(t.TempDir())
	require.NoError(t, err)
	h, err := gateway.New(gateway.Config{Generator: g, Store: store, Mode: gateway.Sync, Keys: gateway.Anyone})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	const size = 24 << 20
	var head bytes.Buffer
	w := multipart.NewWriter(&head)
	_ = w.WriteField("prompt", "x")
	file(w, "image[]", "image/png", "")
	start := bytes.Clone(head.Bytes())
	require.NoError(t, w.Close())
	body := io.MultiReader(bytes.NewReader(start), io.LimitReader(xs{}, size), bytes.NewReader(head.Bytes()[len(start):]))
	for {
		if probe := httptest.NewRecorder(); true {
			r := httptest.NewRequest("POST", generations, nil)
			h.ServeHTTP(probe, r)
			if probe.Code == 415 { // it runs
				break
			}
			runtime.Gosched()
		}
	}
	r := httptest.NewRequest("POST", edits, body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	out := &discard{ResponseWriter: httptest.NewRecorder()}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h.ServeHTTP(out, r)
	runtime.ReadMemStats(&after)
	require.Equal(t, int64(size), g.refs)
	require.Greater(t, out.n, int64(2*size*4/3))
	require.Equal(t, fmt.Sprint(out.n), out.Header().Get("Content-Length"))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20))
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func Example() {
	keys, _ := gateway.StaticKeys(map[string]string{"me": os.Getenv("IMAGE_API_KEY")})
	g, err := gateway.New(gateway.Config{Generator: draw.New(draw.Config{}), Keys: keys})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = g.Run(ctx) }()
	_ = http.ListenAndServe("127.0.0.1:8080", g)
}
