package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/imagegentest"
)

func TestSignedAddresses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, setup{Config: gateway.Config{Mode: gateway.Async, PublicURL: "https://img.example/below/"}})
		id := send(t, h, "POST", generations, `{"prompt":"x"}`, nil).data()["id"].(string)
		synctest.Wait()
		body := send(t, h, "GET", "/v1/tasks/"+id, "", nil).Body.String()
		require.Regexp(t, `\?\w+=\w+&\w+=`, body, "an address can be copied out of the answer")
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
		for _, bad := range []string{strings.Replace(path, "until=9", "until=99", 1),
			strings.Replace(path, "/"+id+"-", "/x"+id+"-", 1), path + "0", strings.Split(path, "?")[0]} {
			require.Equal(t, "bad_signature", send(t, h, "GET", bad, "", open).errorCode(), bad)
		}
		time.Sleep(time.Hour + time.Second)
		require.Equal(t, "expired", send(t, h, "GET", path, "", open).errorCode())
		require.NotEqual(t, url, address())
		time.Sleep(25 * time.Hour)
		require.Equal(t, 404, send(t, h, "GET", "/v1/tasks/"+id, "", nil).Code, "the retention has passed")
	})
}

func TestOpenAPIDescribesWhatIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, setup{})
		a := send(t, h, "GET", "/openapi.json", "", func(r *http.Request) { r.Header.Del("Authorization") })
		require.Equal(t, "3.1.0", a.body["openapi"])
		paths := a.body["paths"].(map[string]any)
		require.Len(t, paths, 7)
		for path, item := range paths {
			for method := range item.(map[string]any) {
				other := map[string]string{"get": "POST", "post": "GET"}[method]
				got := send(t, h, other, regexp.MustCompile(`{\w+}`).ReplaceAllString(path, "x"), "", nil)
				require.Equal(t, 405, got.Code, path)
				require.Equal(t, strings.ToUpper(method), got.Header().Get("Allow"))
			}
		}
		var doc struct {
			Components struct {
				Schemas struct {
					Size struct {
						AnyOf []struct{ Enum []imagegen.Ratio }
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal(a.Body.Bytes(), &doc))
		require.Equal(t, imagegen.Ratios(), doc.Components.Schemas.Size.AnyOf[0].Enum)
		require.Equal(t, 2, strings.Count(a.Body.String(), `"#/components/schemas/Size"`), "of both endpoints")
		for _, ref := range strings.Split(a.Body.String(), `"$ref": "#/components/schemas/`)[1:] {
			name, _, _ := strings.Cut(ref, `"`)
			require.Contains(t, a.body["components"].(map[string]any)["schemas"], name)
		}
	})
}

// pieces is a ResponseWriter that counts the body, and keeps the size of the longest Write.
type pieces struct {
	http.ResponseWriter
	n, longest int
}

func (p *pieces) Write(data []byte) (int, error) {
	p.n += len(data)
	p.longest = max(p.longest, len(data))
	return len(data), nil
}

// xs is an endless body that fails when more of it is read than the gateway has stored.
type xs struct {
	t    *testing.T
	dir  string
	read int64
}

func (x *xs) Read(p []byte) (int, error) {
	var stored int64
	for _, e := range files(x.t, x.dir) {
		info, err := e.Info()
		require.NoError(x.t, err)
		stored += info.Size()
	}
	require.Less(x.t, x.read-stored, int64(256<<10), "bytes that were read but not stored")
	p = p[:min(len(p), 64<<10)]
	for i := range p {
		p[i] = 'x'
	}
	x.read += int64(len(p))
	return len(p), nil
}

// References go to the disk as they arrive, and images leave it in pieces.
func TestUploadsAndImagesStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		fake := imagegentest.New(t, imagegentest.Options{Image: func(imagegentest.Post, int) []byte {
			return append(bytes.Clone(pngHead), make([]byte, size)...)
		}})
		dir := t.TempDir()
		h := running(t, setup{Config: config(gateway.Sync), generator: fake.Client(nil), files: openFiles(t, dir, 0)})
		var head bytes.Buffer
		w := multipart.NewWriter(&head)
		_ = w.WriteField("prompt", "x")
		file(w, "image[]", "image/png", "")
		start := bytes.Clone(head.Bytes())
		require.NoError(t, w.Close())
		body := io.MultiReader(bytes.NewReader(start), io.LimitReader(&xs{t: t, dir: dir}, size),
			bytes.NewReader(head.Bytes()[len(start):]))
		r := httptest.NewRequest("POST", edits, body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		r.Header.Set("Authorization", "Bearer "+key)
		out := &pieces{ResponseWriter: httptest.NewRecorder()}
		h.ServeHTTP(out, r)
		require.Len(t, fake.Counts().Posts[0].Files[0].Data, size)
		require.Greater(t, out.n, size*4/3)
		require.LessOrEqual(t, out.longest, 64<<10)
		require.Equal(t, fmt.Sprint(out.n), out.Header().Get("Content-Length"))
	})
}
