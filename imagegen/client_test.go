package imagegen_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

func fox() *imagegen.Request {
	return &imagegen.Request{Prompt: "a red fox", Size: "16:9"}
}

// Every size and every mode, on both endpoints.
func TestGenerateStoresImages(t *testing.T) {
	t.Parallel()
	for mode, name := range map[imagegentest.Mode]string{imagegentest.Sync: "sync", imagegentest.Async: "async",
		imagegentest.ByURL: "url"} {
		for _, ratio := range imagegen.Ratios() {
			for _, refs := range [][]imagegen.Reference{nil, {imagegen.Bytes("a.png", []byte("\x89PNG\r\n\x1a\n...")),
				imagegen.Bytes("b", []byte("\xff\xd8\xff\xe0..."))}} {
				synctestRun(t, name+string(ratio)+map[bool]string{true: " edit"}[refs != nil], func(t *testing.T) {
					fake := imagegentest.New(t, imagegentest.Options{Mode: mode})
					images := imagegen.Memory()
					r, err := fake.Client(nil).Generate(t.Context(),
						&imagegen.Request{Prompt: "x", N: 3, Size: ratio, References: refs}, images)
					require.NoError(t, err)
					require.Len(t, r.Images, 3)
					for i, info := range r.Images {
						c, err := png.DecodeConfig(bytes.NewReader(images.Get(i)))
						require.NoError(t, err)
						require.Equal(t, [2]int{c.Width, c.Height}, [2]int{info.Width, info.Height})
						require.Equal(t, "image/png", info.Type)
						require.Equal(t, int64(len(images.Get(i))), info.Size)
						_, _, cw, ch := ratio.Crop(64, 64)
						require.Equal(t, [2]int{cw, ch}, [2]int{c.Width, c.Height})
					}
					require.Equal(t, mode == imagegentest.Async, r.TaskID != "")
					require.Equal(t, 1, r.Attempts)
					counts := fake.Counts()
					require.Equal(t, 1, counts.Generations)
					require.Equal(t, imagegen.DefaultModel, counts.Posts[0].Fields["model"])
					require.Len(t, counts.Posts[0].Files, len(refs))
					if refs != nil {
						require.Equal(t, "image/jpeg", counts.Posts[0].Files[1].Type)
						require.Equal(t, "b.jpg", counts.Posts[0].Files[1].Name)
					}
					if mode == imagegentest.Sync {
						require.Equal(t, "revised: x", r.Images[0].Prompt)
						require.Contains(t, string(r.Usage), fmt.Sprintf(`"image_tokens":%d`, 5*len(refs)))
						require.Empty(t, counts.Polls)
					}
				})
			}
		}
	}
}

func synctestRun(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

// errorOf returns the error of type E in err.
func errorOf[E error](t *testing.T, err error) E {
	t.Helper()
	var e E
	require.ErrorAs(t, err, &e)
	return e
}

func TestAbsentParametersAreAbsent(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	const prompt = "\ufffd" // which is UTF-8
	for i, refs := range [][]imagegen.Reference{nil, {imagegen.Bytes("a", []byte("GIF89a"))}} {
		req := &imagegen.Request{Prompt: prompt, References: refs}
		_, err := fake.Client(nil).Generate(t.Context(), req, imagegen.Memory())
		require.NoError(t, err)
		want := map[string]string{"model": imagegen.DefaultModel, "prompt": prompt}
		require.Equal(t, want, fake.Counts().Posts[i].Fields)
	}
}

func TestErrorMethods(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step      imagegentest.Step
		permanent bool
		after     time.Duration
	}{
		"400 is permanent":                  {imagegentest.Status(400, 0), true, 0},
		"401 is permanent":                  {imagegentest.Status(401, 0), true, 0},
		"no images is permanent":            {imagegentest.Empty(), true, 0},
		"429 with Retry-After":              {imagegentest.Status(429, time.Hour), false, time.Hour},
		"429 without Retry-After":           {imagegentest.Status(429, 0), false, 30 * time.Second},
		"500 is temporary":                  {imagegentest.Status(500, 0), false, 0},
		"a truncated response is temporary": {imagegentest.DropMiddle(), false, 0},
		"connection refused":                {imagegentest.Refuse(), false, 30 * time.Second},
	} {
		synctestRun(t, name, func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{})
			fake.Script(test.step)
			_, err := fake.Client(func(c *imagegen.Config) { c.MaxRetries = -1 }).Generate(t.Context(), fox(),
				imagegen.Memory())
			var e interface {
				Permanent() bool
				RetryAfter() time.Duration
			}
			require.ErrorAs(t, err, &e)
			require.Equal(t, test.permanent, e.Permanent(), "%v", err)
			require.Equal(t, test.after, e.RetryAfter(), "%v", err)
		})
	}
}

func TestErrorContainsTheServicesError(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	fake.Script(imagegentest.Status(400, 0))
	_, err := fake.Client(nil).Generate(t.Context(), fox(), imagegen.Memory())
	e := errorOf[*imagegen.Error](t, err)
	require.Equal(t, []any{400, "scripted", "scripted_error", "scripted status 400", "req-error"},
		[]any{e.Status, e.Code, e.Type, e.Message, e.RequestID})
}

// Wherever a service echoes the API key, even if the text is truncated in the middle of it.
func TestErrorsNeverContainTheAPIKey(t *testing.T) {
	t.Parallel()
	const key = "sk-0123456789abcdef0123456789abcdef"
	page := strings.Repeat("x", 492) + key + strings.Repeat("x", 5000)
	complaint := `{"code":"` + strings.Repeat("c", 190) + key + `","type":"` + key + `","message":"` +
		strings.Repeat("m", 4<<10-10) + key + `"}`
	for name, test := range map[string]struct {
		status     int
		post, poll string
	}{
		"refusal":               {401, `{"error":` + complaint + `}`, ""},
		"refusal in plain text": {401, page, ""},
		"page":                  {200, page, ""},
		"error with status 200": {200, `{"error":` + complaint + `}`, ""},
		"task failed at once":   {200, `{"data":{"id":"t","status":"failed","error":` + complaint + `}}`, ""},
		"an image failed":       {200, `{"data":[{"b64_json":"iVBORw0KGgo="},{"error":` + complaint + `}]}`, ""},
		"task failed": {200, `{"data":{"id":"t"}}`, `{"data":{"id":"t","status":"failed","error":` +
			complaint + `}}`},
		"poll with an error": {200, `{"data":{"id":"t"}}`, `{"error":` + complaint + `}`},
		"images of a task": {200, `{"data":{"id":"t"}}`,
			`{"data":{"status":"completed","result":{"images":[{"error":` + complaint + `}]}}}`},
	} {
		synctestRun(t, name, func(t *testing.T) {
			h := imagegentest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", key)
				if r.Method == http.MethodGet {
					_, _ = io.WriteString(w, test.poll)
					return
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.post)
			}))
			client, err := imagegen.New(imagegen.Config{BaseURL: "http://service.test", APIKey: key, HTTPClient: h})
			require.NoError(t, err)
			_, err = client.Generate(t.Context(), fox(), imagegen.Memory())
			require.Error(t, err)
			require.NotContains(t, err.Error(), key[:4])
			require.Less(t, len(err.Error()), 5<<10)
		})
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	client := fake.Client(nil)
	for name, test := range map[string]struct {
		req  *imagegen.Request
		sink imagegen.Sink
	}{
		"no request":             {nil, imagegen.Memory()},
		"no prompt":              {&imagegen.Request{}, imagegen.Memory()},
		"not UTF-8":              {&imagegen.Request{Prompt: "caf\xe9"}, imagegen.Memory()},
		"unknown size":           {&imagegen.Request{Prompt: "x", Size: "7:5"}, imagegen.Memory()},
		"negative n":             {&imagegen.Request{Prompt: "x", N: -1}, imagegen.Memory()},
		"no sink":                {fox(), nil},
		"directory missing":      {fox(), imagegen.Dir(filepath.Join(t.TempDir(), "missing"), "")},
		"pattern leaves dir":     {fox(), imagegen.Dir(t.TempDir(), "../{i}")},
		"name too long":          {fox(), imagegen.Dir(t.TempDir(), strings.Repeat("n", 256)+"{ext}")},
		"no room for -2":         {fox(), imagegen.Dir(t.TempDir(), strings.Repeat("n", 251)+"{ext}")},
		"two images, one writer": {&imagegen.Request{Prompt: "x", N: 2}, imagegen.Writer(&bytes.Buffer{})},
		"too many references": {&imagegen.Request{Prompt: "x", References: make([]imagegen.Reference, 17)},
			imagegen.Memory()},
	} {
		_, err := client.Generate(t.Context(), test.req, test.sink)
		require.ErrorIs(t, err, imagegen.ErrInvalidRequest, name)
		e := errorOf[*imagegen.Error](t, err)
		require.False(t, e.MayHaveRun)
	}
	require.Zero(t, fake.Counts().Requests)
}

func TestNewRefusesBadConfigurations(t *testing.T) {
	t.Parallel()
	for _, c := range []imagegen.Config{{}, {BaseURL: "ftp://x"}, {BaseURL: "http://user:pw@x"},
		{BaseURL: "http://x?a=b"},
		{BaseURL: "/relative"}, {BaseURL: "http://x", APIKey: "two\nlines"}} {
		_, err := imagegen.New(c)
		require.Error(t, err, c.BaseURL)
		require.NotContains(t, err.Error(), "pw")
	}
	for address, says := range map[string]string{
		"":               "base URL: it is empty; expected http://HOST or https://HOST",
		"127.0.0.1:8085": "base URL: it has no scheme; expected http://HOST or https://HOST",
		"localhost:8085": "base URL: it has no scheme; expected http://HOST or https://HOST",
		"http://x:y":     "base URL: the address is malformed",
	} {
		_, err := imagegen.New(imagegen.Config{BaseURL: address})
		require.EqualError(t, err, says)
	}
}

// An error has what its reader needs to go on.
func TestErrorsSayWhatHelps(t *testing.T) {
	t.Parallel()
	for says, step := range map[string]imagegentest.Step{
		"(retry after 1h0m0s)": imagegentest.Status(429, time.Hour),
		`redirect to "http://elsewhere.test/v1?…" is not followed`: imagegentest.Redirect(307,
			"http://elsewhere.test/v1?key=secret"),
		"image 2: ":               imagegentest.ItemError(1),
		"AllowPrivate is not set": imagegentest.Raw(`{"data":[{"url":"http://127.0.0.1:1/x.png"}]}`),
	} {
		synctestRun(t, says, func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{})
			fake.Script(step)
			client := fake.Client(func(c *imagegen.Config) { c.FetchClient = nil })
			_, err := client.Generate(t.Context(), &imagegen.Request{Prompt: "x", N: 2}, imagegen.Memory())
			require.ErrorContains(t, err, says)
		})
	}
}

// Whenever a call is canceled, it ends at once with the context's error, and leaves no file and (as
// the synctest bubble checks) no goroutine.
func TestCancellationAtEveryStage(t *testing.T) {
	t.Parallel()
	for _, mode := range []imagegentest.Mode{imagegentest.Sync, imagegentest.Async, imagegentest.ByURL} {
		for _, step := range []imagegentest.Step{imagegentest.Slow(7 * time.Second), imagegentest.Stall(),
			imagegentest.Status(429, 20*time.Second),
			imagegentest.Polls(0, 500), imagegentest.Stuck()} {
			for after := time.Duration(0); after <= 35*time.Second; after += 2500 * time.Millisecond {
				synctest.Test(t, func(t *testing.T) {
					fake := imagegentest.New(t, imagegentest.Options{Mode: mode})
					fake.Script(step)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					timer := time.AfterFunc(after, cancel)
					defer timer.Stop()
					began := time.Now()
					dir := t.TempDir()
					req := fox()
					req.References = []imagegen.Reference{imagegen.Bytes("a", pngHead)}
					r, err := fake.Client(nil).Generate(ctx, req, imagegen.Dir(dir, ""))
					if err == nil {
						require.Len(t, names(t, dir), len(r.Images))
						return
					}
					require.ErrorIs(t, err, context.Canceled)
					require.NotContains(t, err.Error(), "\n")
					require.Equal(t, after, time.Since(began))
					require.Empty(t, names(t, dir))
				})
			}
		}
	}
}

// The caller's deadline is not said to be the client's time limit.
func TestDeadlineOfTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{})
		fake.Script(imagegentest.Stall())
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := fake.Client(nil).Generate(ctx, fox(), imagegen.Memory())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, err.Error(), "10m0s")
	})
}

// slowSink takes longer for each write than a connection may be idle.
type slowSink struct{ imagegen.Sink }

type slowBlob struct{ imagegen.Blob }

func (s slowSink) Open(ctx context.Context, info imagegen.Info) (imagegen.Blob, error) {
	b, err := s.Sink.Open(ctx, info)
	return slowBlob{b}, err
}

func (b slowBlob) Write(p []byte) (int, error) {
	time.Sleep(2 * time.Minute)
	return b.Blob.Write(p)
}

func TestSlowSinkDoesNotCountAsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{})
		_, err := fake.Client(nil).Generate(t.Context(), &imagegen.Request{Prompt: "x", N: 2},
			slowSink{imagegen.Memory()})
		require.NoError(t, err)
	})
}
