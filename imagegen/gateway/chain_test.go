package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/draw"
	"lessonkit.example/imagegen/imagegentest"
)

var pngHead = []byte("\x89PNG\r\n\x1a\n and so on")

const key = "gateway-key"

// serve returns a client of a gateway in memory.
func serve(t *testing.T, s setup) *imagegen.Client {
	t.Helper()
	h := imagegentest.Serve(t, running(t, s))
	client, err := imagegen.New(imagegen.Config{BaseURL: "http://gateway.test", APIKey: key, HTTPClient: h})
	require.NoError(t, err)
	return client
}

func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

// A client calls a gateway whose generator is a client of the fake, in every combination of modes,
// with and without references.
func TestChain(t *testing.T) {
	t.Parallel()
	for fakeName, fakeMode := range map[string]imagegentest.Mode{"sync": imagegentest.Sync,
		"async": imagegentest.Async, "url": imagegentest.ByURL} {
		for _, mode := range []gateway.Mode{gateway.Sync, gateway.Async, gateway.Auto} {
			for _, refs := range [][]imagegen.Reference{nil,
				{imagegen.Bytes("a.png", pngHead), imagegen.Bytes("b.png", bytes.Repeat(pngHead, 20_000))}} {
				bubble(t, fmt.Sprintf("%s %s %d references", fakeName, mode, len(refs)), func(t *testing.T) {
					fake := imagegentest.New(t, imagegentest.Options{Mode: fakeMode})
					client := serve(t, setup{Config: config(mode), generator: fake.Client(nil)})
					images := imagegen.Memory()
					r, err := client.Generate(t.Context(), &imagegen.Request{Model: "svc-image-2", Prompt: "a red fox",
						N: 3, Size: "16:9", References: refs}, images)
					require.NoError(t, err)
					require.Len(t, r.Images, 3)
					counts := fake.Counts()
					require.Equal(t, 1, counts.Generations)
					post := counts.Posts[0]
					require.Equal(t, map[string]string{"model": "svc-image-2", "prompt": "a red fox", "n": "3",
						"size": "16:9"}, post.Fields)
					require.Len(t, post.Files, len(refs))
					if refs != nil {
						require.Equal(t, imagegentest.File{Name: "a.png", Type: "image/png", Data: pngHead},
							post.Files[0])
						require.Len(t, post.Files[1].Data, 20_000*len(pngHead))
					}
					require.Equal(t, mode == gateway.Async, r.TaskID != "")
					if fakeMode == imagegentest.Sync {
						require.Contains(t, string(r.Usage), fmt.Sprintf(`"image_tokens":%d`, 5*len(refs)))
					}
					direct := imagegen.Memory()
					_, err = fake.Client(nil).Generate(t.Context(), &imagegen.Request{Prompt: "x", N: 3, Size: "16:9"},
						direct)
					require.NoError(t, err)
					for i := range 3 {
						require.Equal(t, direct.Get(i), images.Get(i))
					}
				})
			}
		}
	}
}

// Faults of the upstream service keep their meaning.
func TestChainPassesFailuresOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step      imagegentest.Step
		mode      imagegentest.Mode
		status    int // of a synchronous answer
		message   string
		permanent bool
		again     bool // is worth another try
	}{
		"refused":   {imagegentest.Status(400, 0), imagegentest.Sync, 422, "scripted status 400", true, false},
		"no images": {imagegentest.Empty(), imagegentest.Sync, 422, "no images", true, false},
		"moderated": {imagegentest.Raw(`{"error":{"code":"content_policy_violation","message":"no knives"}}`),
			imagegentest.Sync, 422, "no knives", true, false},
		"moderated task": {imagegentest.Raw(`{"data":{"id":"t","status":"failed","error":{"code":"content_filter",
			"message":"no knives"}}}`), imagegentest.Sync, 422, "no knives", true, false},
		"failed task":  {imagegentest.Fail("not allowed"), imagegentest.Async, 422, "not allowed", true, false},
		"lost answer":  {imagegentest.DropMiddle(), imagegentest.Sync, 502, "may have been charged", false, false},
		"server error": {imagegentest.Status(500, 0), imagegentest.Sync, 502, "may have been charged", false, false},
		"asked to wait": {imagegentest.Status(429, 10*time.Minute), imagegentest.Sync, 503, "not available", false,
			true},
		"key refused":   {imagegentest.Status(401, 0), imagegentest.Sync, 503, "not available", false, true},
		"account empty": {imagegentest.Status(402, 0), imagegentest.Sync, 503, "not available", false, true},
		"image that cannot be fetched": {imagegentest.Raw(`{"data":[{"url":"ftp://x"}]}`), imagegentest.Sync, 502,
			"may have been charged", false, false},
		"page, not JSON": {imagegentest.Raw("<!doctype html><html><body>sleeping</body></html>"),
			imagegentest.Sync, 502, "may have been charged", false, false},
	} {
		for _, mode := range []gateway.Mode{gateway.Sync, gateway.Async} {
			bubble(t, name+" "+string(mode), func(t *testing.T) {
				fake := imagegentest.New(t, imagegentest.Options{Mode: test.mode})
				fake.Script(test.step)
				client := serve(t, setup{Config: config(mode), generator: fake.Client(nil)})
				_, err := client.Generate(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
				require.ErrorContains(t, err, test.message)
				require.NotContains(t, err.Error(), imagegentest.APIKey)
				if strings.HasPrefix(name, "key") || strings.HasPrefix(name, "account") {
					require.NotContains(t, err.Error(), "scripted", "what concerns the operator")
				}
				require.Equal(t, strings.HasPrefix(name, "moderated"), errors.Is(err, imagegen.ErrModerated))
				if mode == gateway.Async {
					var e *imagegen.TaskError
					require.ErrorAs(t, err, &e)
					return
				}
				var e *imagegen.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, test.status, e.Status)
				require.Equal(t, test.permanent, e.Permanent())
				require.Equal(t, test.again, e.RetryAfter() > 0)
				require.Equal(t, test.status == 502, e.MayHaveRun)
			})
		}
	}
}

// A poll that is refused with Retry-After does not mean that the task was not submitted.
func TestRefusedPollIsNotPaidTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		generated := 0
		up := imagegentest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				generated++
				_, _ = io.WriteString(w, `{"data":{"id":"t"}}`)
				return
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusConflict)
		}))
		generator, err := imagegen.New(imagegen.Config{BaseURL: "http://service.test", HTTPClient: up})
		require.NoError(t, err)
		client := serve(t, setup{Config: config(gateway.Sync), generator: generator})
		_, err = client.Generate(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
		require.ErrorContains(t, err, "may have been charged")
		require.Equal(t, 1, generated)
	})
}

// A request that failed before anything was generated may be repeated with its key.
func TestKeyOfARequestThatWasNotCarriedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{})
		fake.Script(imagegentest.Status(429, 10*time.Minute))
		h := running(t, setup{Config: config(gateway.Sync), generator: fake.Client(nil)})
		post := func() answer {
			return send(t, h, "POST", generations, `{"prompt":"x"}`, header("Idempotency-Key", "k"))
		}
		first := post()
		require.Equal(t, 503, first.Code)
		require.Equal(t, "600", first.Header().Get("Retry-After"))
		require.Equal(t, 200, post().Code)
		require.Equal(t, 200, post().Code)
		require.Equal(t, 1, fake.Counts().Generations)
	})
}

// The connection breaks when the gateway has received the request, and once more.
func TestBrokenRequestWithItsKeyIsGeneratedOnce(t *testing.T) {
	t.Parallel()
	for once, want := range map[string]int{"": 1, "b7e1": 3} {
		bubble(t, "key "+once, func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{})
			h := running(t, setup{Config: config(gateway.Sync), generator: fake.Client(nil)})
			requests := 0
			up := imagegentest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests++; requests < 3 {
					h.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
				h.ServeHTTP(w, r)
			}))
			client, err := imagegen.New(imagegen.Config{BaseURL: "http://gateway.test", APIKey: key, HTTPClient: up})
			require.NoError(t, err)
			request := &imagegen.Request{Prompt: "x", IdempotencyKey: once}
			_, err = client.Generate(t.Context(), request, imagegen.Memory())
			require.Equal(t, want, requests)
			require.Equal(t, 1, fake.Counts().Generations)
			if once == "" {
				require.ErrorContains(t, err, "charged")
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestChainKeepsTheImagesOfAPartialResponse(t *testing.T) {
	t.Parallel()
	for _, mode := range []gateway.Mode{gateway.Sync, gateway.Async} {
		bubble(t, string(mode), func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{})
			fake.Script(imagegentest.ItemError(2))
			client := serve(t, setup{Config: config(mode), generator: fake.Client(nil)})
			r, err := client.Generate(t.Context(), &imagegen.Request{Prompt: "x", N: 3}, imagegen.Memory())
			var p *imagegen.PartialError
			require.ErrorAs(t, err, &p)
			require.Len(t, r.Images, 2)
			require.Contains(t, p.Failed, 2)
		})
	}
}

func TestAutoRespondsWithATaskAfterTheBudget(t *testing.T) {
	t.Parallel()
	for delay, task := range map[time.Duration]bool{80 * time.Second: false, 100 * time.Second: true} {
		bubble(t, delay.String(), func(t *testing.T) {
			client := serve(t, setup{generator: draw.Generator{LongEdge: 32, Delay: delay}})
			began := time.Now()
			r, err := client.Submit(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
			require.NoError(t, err)
			require.Equal(t, task, len(r.Images) == 0)
			require.Equal(t, min(delay, 90*time.Second), time.Since(began))
			if task {
				r, err = client.Wait(t.Context(), r.TaskID, imagegen.Memory())
				require.NoError(t, err)
			}
			require.Len(t, r.Images, 1)
		})
	}
}

func TestWaitingCallersReceiveTheirTaskWhenTheGatewayStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async, Duration: time.Hour})
		var stop func()
		client := serve(t, setup{Config: config(gateway.Sync), generator: fake.Client(nil), stopped: &stop})
		time.AfterFunc(time.Minute, func() { stop() })
		sent, err := client.Submit(t.Context(), &imagegen.Request{Prompt: "x"}, imagegen.Memory())
		require.NoError(t, err)
		require.NotEmpty(t, sent.TaskID)
		require.Empty(t, sent.Images)
	})
}
