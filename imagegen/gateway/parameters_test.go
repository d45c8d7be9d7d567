package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"image/jpeg"
	"image/png"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen/gateway"
)

func TestSizesInPixelsAreMappedToTheNearestRatio(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, setup{})
		for size, test := range map[string]struct {
			header        string
			width, height int // of drawings whose longer edge has 32 pixels
		}{
			"16:9":      {"", 32, 18},
			"":          {"", 32, 32},
			"auto":      {"auto", 32, 32},
			"1024x1024": {"1:1", 32, 32},
			"1536x1024": {"3:2", 32, 21},
			"1024x1536": {"2:3", 21, 32},
			"1792x1024": {"16:9", 32, 18},
			"3840x1080": {"21:9", 32, 14},
			"3x2":       {"3:2", 32, 21},
		} {
			a := send(t, h, "POST", generations, `{"prompt":"x","size":"`+size+`"}`, nil)
			require.Equal(t, 200, a.Code, size)
			require.Equal(t, test.header, a.Header().Get("Image-Ratio"), size)
			config, err := png.DecodeConfig(bytes.NewReader(imageData(t, a)))
			require.NoError(t, err)
			require.Equal(t, [2]int{test.width, test.height}, [2]int{config.Width, config.Height}, size)
		}
	})
}

// imageData returns the first image of a response.
func imageData(t *testing.T, a answer) []byte {
	t.Helper()
	text := a.body["data"].([]any)[0].(map[string]any)["b64_json"].(string)
	data, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return data
}

func TestParametersThatChangeNothingAreAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, setup{})
		a := send(t, h, "POST", generations, `{"prompt":"x","n":null,"size":"","user":"u","safety_identifier":"s",
			"background":"auto","moderation":"auto","quality":"auto","stream":false,"partial_images":0,
			"style":null,"output_compression":100,"response_format":"b64_json",
			"image_urls":["https://images.example/x.png"]}`, nil)
		require.Equal(t, 200, a.Code, a.Body)
		require.Equal(t, "png", a.body["output_format"])
	})
}

func TestResponseFormatURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, setup{Config: gateway.Config{PublicURL: "https://img.example"}})
		request := `{"prompt":"x","n":2,"response_format":"url","output_format":"jpeg"}`
		a := send(t, h, "POST", generations, request, nil)
		require.Equal(t, 200, a.Code)
		require.Equal(t, "jpeg", a.body["output_format"])
		items := a.body["data"].([]any)
		require.Len(t, items, 2)
		for _, item := range items {
			require.NotContains(t, item, "b64_json")
			path, ok := strings.CutPrefix(item.(map[string]any)["url"].(string), "https://img.example")
			require.True(t, ok)
			file := send(t, h, "GET", path, "", func(r *http.Request) { r.Header.Del("Authorization") })
			require.Equal(t, "image/jpeg", file.Header().Get("Content-Type"))
			_, err := jpeg.Decode(file.Body)
			require.NoError(t, err)
		}
	})
}

// lastTask keeps the last task and performs none.
type lastTask struct {
	gateway.Tasks
	params gateway.Params
}

func (l *lastTask) Add(_ context.Context, p gateway.Params) (id string, added bool, err error) {
	l.params = p
	return "", false, gateway.ErrQueueFull
}

func TestTheNameOfAReferenceIsStoredInPart(t *testing.T) {
	t.Parallel()
	keys, err := gateway.ParseKeys("me:" + key)
	require.NoError(t, err)
	var last lastTask
	h, err := gateway.New(gateway.Config{Tasks: &last, Files: openFiles(t, t.TempDir(), 0), Keys: keys})
	require.NoError(t, err)
	body, kind := form(t, func(w *multipart.Writer) {
		_ = w.WriteField("prompt", "x")
		f, _ := w.CreateFormFile("image", strings.Repeat("b", 9000)+".png")
		_, _ = f.Write(pngHead)
	})
	require.Equal(t, 503, send(t, h, "POST", edits, body, kind).Code)
	require.Equal(t, strings.Repeat("b", 251)+".png", last.params.References[0].Original)
}
