package imagegen_test

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

// How many generations one call starts after each fault, and what it reports.
func TestRetryTable(t *testing.T) {
	t.Parallel()
	type want struct {
		generations, attempts int
		failed, mayHaveRun    bool
	}
	for name, test := range map[string]struct {
		script []imagegentest.Step
		edit   func(*imagegen.Config)
		key    string
		want   want
	}{
		"connection refused twice": {script: steps(imagegentest.Refuse(), imagegentest.Refuse()),
			want: want{1, 3, false, false}},
		"connection refused three times": {script: steps(imagegentest.Refuse(), imagegentest.Refuse(),
			imagegentest.Refuse()), want: want{0, 3, true, false}},
		"closed before the request was read": {script: steps(imagegentest.DropBefore()),
			want: want{0, 1, true, true}},
		"closed after the request was read": {script: steps(imagegentest.DropAfter()),
			want: want{1, 1, true, true}},
		"closed before the request was read, with a key": {script: steps(imagegentest.DropBefore()), key: "b7e1",
			want: want{1, 2, false, false}},
		"closed after the request, with a key": {script: steps(imagegentest.DropAfter()), key: "b7e1",
			want: want{2, 2, false, false}},
		"closed after the request three times, with a key": {script: steps(imagegentest.DropAfter(),
			imagegentest.DropAfter(), imagegentest.DropAfter()), key: "b7e1", want: want{3, 3, true, true}},
		"deadline, with a key": {script: steps(imagegentest.Slow(time.Hour)), key: "b7e1",
			want: want{1, 1, true, true}},
		"no retries": {script: steps(imagegentest.Refuse()),
			edit: func(c *imagegen.Config) { c.MaxRetries = -1 }, want: want{0, 1, true, false}},
		"closed in the middle of the response": {script: steps(imagegentest.DropMiddle()),
			want: want{1, 1, true, true}},
		"idle in the middle of the response": {script: steps(imagegentest.Stall()), want: want{1, 1, true, true}},
		"deadline": {script: steps(imagegentest.Slow(time.Hour)),
			want: want{1, 1, true, true}},
		"timeout of a given HTTP client": {script: steps(imagegentest.Slow(time.Hour)),
			edit: func(c *imagegen.Config) { c.HTTPClient.Timeout = time.Minute }, want: want{1, 1, true, true}},
		"500": {script: steps(imagegentest.Status(500, 0)),
			want: want{1, 1, true, true}},
		"504 with Retry-After": {script: steps(imagegentest.Status(504, time.Second)),
			want: want{1, 1, true, true}},
		"503": {script: steps(imagegentest.Status(503, 0)),
			want: want{0, 1, true, true}},
		"503 with Retry-After": {script: steps(imagegentest.Status(503, 5*time.Second)),
			want: want{1, 2, false, false}},
		"429 with Retry-After": {script: steps(imagegentest.Status(429, 5*time.Second)),
			want: want{1, 2, false, false}},
		"429": {script: steps(imagegentest.Status(429, 0)),
			want: want{0, 1, true, false}},
		"429 with a long Retry-After": {script: steps(imagegentest.Status(429, time.Hour)),
			want: want{0, 1, true, false}},
		"400": {script: steps(imagegentest.Status(400, 0)),
			want: want{0, 1, true, false}},
		"refused after a broken connection, with a key": {script: steps(imagegentest.DropAfter(),
			imagegentest.Status(400, 0)), key: "b7e1", want: want{1, 2, true, true}},
		"307": {script: steps(imagegentest.Redirect(307,
			"http://elsewhere.test/v1/images/generations")), want: want{0, 1, true, false}},
		"HTML instead of JSON": {script: steps(imagegentest.Raw("<!doctype html><html><body>sleeping</body></html>")),
			want: want{1, 1, true, true}},
		"a generation of five minutes is waited for": {script: steps(imagegentest.Slow(5 * time.Minute)),
			want: want{1, 1, false, false}},
	} {
		for _, refs := range [][]imagegen.Reference{nil,
			{imagegen.Bytes("a.png", bytes.Repeat([]byte("\x89PNG\r\n\x1a\n"), 50_000))}} {
			synctestRun(t, name+map[bool]string{true: ", edit"}[refs != nil], func(t *testing.T) {
				fake := imagegentest.New(t, imagegentest.Options{})
				fake.Script(test.script...)
				req := fox()
				req.References, req.IdempotencyKey = refs, test.key
				dir := t.TempDir()
				r, err := fake.Client(test.edit).Generate(t.Context(), req, imagegen.Dir(dir, "fox{ext}"))
				got := want{generations: fake.Counts().Generations, failed: err != nil}
				if err != nil {
					e := errorOf[*imagegen.Error](t, err)
					got.attempts, got.mayHaveRun = e.Attempts, e.MayHaveRun
					require.NotContains(t, err.Error(), imagegentest.APIKey)
				} else {
					got.attempts = r.Attempts
				}
				require.Equal(t, test.want, got, "%v", err)
				entries, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Len(t, entries, map[bool]int{true: 0, false: 1}[got.failed], "files left behind")
			})
		}
	}
}

func steps(all ...imagegentest.Step) []imagegentest.Step { return all }

// With a key, net/http sends a request again when a kept connection breaks. That the service cannot
// be reached then does not mean that it has not received the request.
func TestKeyOfARequestThatHasBeenReceived(t *testing.T) {
	t.Parallel()
	var site *httptest.Server
	var received atomic.Int32
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if received.Add(1) == 1 {
			_, _ = io.WriteString(w, `{"data":[{"b64_json":"iVBORw0KGgo="}]}`)
			return
		}
		site.Listener.Close()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(site.Close)
	client, err := imagegen.New(imagegen.Config{BaseURL: site.URL, MaxRetries: -1})
	require.NoError(t, err)
	request := &imagegen.Request{Prompt: "x", IdempotencyKey: "b7e1"}
	_, err = client.Generate(t.Context(), request, imagegen.Memory())
	require.NoError(t, err)
	_, err = client.Generate(t.Context(), request, imagegen.Memory())
	require.True(t, errorOf[*imagegen.Error](t, err).MayHaveRun, "%v", err)
	require.EqualValues(t, 2, received.Load())
}

// Nothing has been sent before the handshake, so it is repeated; a certificate stays as it is.
func TestFaultsOfTheHandshake(t *testing.T) {
	t.Parallel()
	site := httptest.NewUnstartedServer(http.NotFoundHandler())
	site.Config.ErrorLog = log.New(io.Discard, "", 0)
	site.StartTLS()
	t.Cleanup(site.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for address, attempts := range map[string]int{"https://" + l.Addr().String(): 2, site.URL: 1} {
		client, err := imagegen.New(imagegen.Config{BaseURL: address, MaxRetries: 1})
		require.NoError(t, err)
		_, err = client.Generate(t.Context(), fox(), imagegen.Memory())
		e := errorOf[*imagegen.Error](t, err)
		require.Equal(t, attempts == 1, e.Permanent())
		require.False(t, e.MayHaveRun)
		require.Equal(t, attempts, e.Attempts)
	}
}
