package imagegen_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

var pngHead = []byte("\x89PNG\r\n\x1a\n and so on")

func withRefs(refs ...imagegen.Ref) *imagegen.Request {
	return &imagegen.Request{Prompt: "x", Refs: refs}
}

func TestReferencesOfEveryKindArriveWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "from file.PNG")
	require.NoError(t, os.WriteFile(path, pngHead, 0o600))
	large := append(bytes.Clone(pngHead), bytes.Repeat([]byte("x"), 9<<20)...) // larger than what is spooled in memory
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent for a reference")
		}
		if r.URL.Path == "/moved/cat.png" {
			http.Redirect(w, r, "/pics/cat.png?v=2", http.StatusFound)
			return
		}
		w.Write(pngHead)
	}))
	t.Cleanup(site.Close)
	file, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	data := base64.StdEncoding.EncodeToString(pngHead)
	refs := map[string]struct {
		ref        imagegen.Ref
		name, kind string
		data       []byte
	}{
		"file":             {imagegen.File(path), "from file.PNG", "image/png", pngHead},
		"bytes":            {imagegen.Bytes("a/b\\c\"\n.png", pngHead), "c__.png", "image/png", pngHead},
		"wrong extension":  {imagegen.Bytes("cat.jpg", pngHead), "cat.png", "image/png", pngHead},
		"no name":          {imagegen.Bytes("", pngHead), "image-1.png", "image/png", pngHead},
		"declared":         {imagegen.Bytes("a", []byte("????")).Type("image/avif"), "a.avif", "image/avif", []byte("????")},
		"by extension":     {imagegen.Bytes("a.avif", []byte("\x00\x01??")), "a.avif", "image/avif", []byte("\x00\x01??")},
		"avif":             {imagegen.Bytes("a", []byte("\x00\x00\x00\x20ftypavif....")), "a.avif", "image/avif", []byte("\x00\x00\x00\x20ftypavif....")},
		"heic":             {imagegen.Bytes("a", []byte("\x00\x00\x00\x20ftypheic....")), "a.heic", "image/heic", []byte("\x00\x00\x00\x20ftypheic....")},
		"svg":              {imagegen.Bytes("a", []byte("<?xml version='1.0'?><svg/>")), "a.svg", "image/svg+xml", []byte("<?xml version='1.0'?><svg/>")},
		"webp":             {imagegen.Bytes("a", []byte("RIFF....WEBPVP8 ")), "a.webp", "image/webp", []byte("RIFF....WEBPVP8 ")},
		"open file":        {imagegen.Reader("r", file), "r.png", "image/png", pngHead},
		"plain reader":     {imagegen.Reader("r", io.MultiReader(bytes.NewReader(large))), "r.png", "image/png", large},
		"data URL":         {imagegen.DataURL("data:image/png;base64," + data), "image-1.png", "image/png", pngHead},
		"bare base64":      {imagegen.DataURL(strings.Join(lines(data, 5), "\n")), "image-1.png", "image/png", pngHead},
		"data URL in text": {imagegen.DataURL("data:image/svg+xml,%3Csvg/%3E"), "image-1.svg", "image/svg+xml", []byte("<svg/>")},
		"address":          {imagegen.URL(site.URL + "/moved/cat.png"), "cat.png", "image/png", pngHead},
	}
	for name, test := range refs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := imagegentest.New(t, imagegentest.Options{})
			client := fake.Client(func(c *imagegen.Config) { // on a real connection, where the kernel may send files
				c.BaseURL, c.HTTPClient, c.Fetch = fake.Listen(), nil, imagegen.Fetch{AllowPrivate: true}
			})
			// the first attempt is turned away, so everything is sent twice
			fake.Script(imagegentest.Status(429, time.Second))
			_, err := client.Generate(t.Context(), withRefs(test.ref), imagegen.Memory())
			require.NoError(t, err)
			posts := fake.Counts().Posts
			require.Len(t, posts, 2)
			for _, p := range posts {
				require.Equal(t, test.name, p.Files[0].Name)
				require.Equal(t, test.kind, p.Files[0].Type)
				require.True(t, bytes.Equal(test.data, p.Files[0].Data))
			}
		})
	}
}

func lines(s string, n int) (all []string) {
	for ; len(s) > n; s = s[n:] {
		all = append(all, s[:n])
	}
	return append(all, s)
}

func TestBadReferencesCostNothing(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	for name, test := range map[string]struct {
		ref       imagegen.Ref
		text      string
		permanent bool
	}{
		"missing file":      {imagegen.File("/does/not/exist.png"), "no such file", true},
		"directory":         {imagegen.File(t.TempDir()), "not a regular file", false},
		"empty":             {imagegen.Bytes("a.png", nil), "empty", true},
		"text":              {imagegen.Bytes("a.png", []byte("hello, world")), "text/plain", true},
		"declared as text":  {imagegen.Bytes("a.png", pngHead).Type("text/html"), "text/html", true},
		"too large":         {imagegen.Source("a.png", 51_000_000, nil), "too large", true},
		"no data":           {imagegen.Ref{}, "neither data nor an address", true},
		"bad base64":        {imagegen.DataURL("data:image/png;base64,%%%"), "base64", true},
		"private address":   {imagegen.URL(site.URL), "not public", true},
		"file address":      {imagegen.URL("file:///etc/passwd"), "http or https", true},
		"user in address":   {imagegen.URL("http://me:secret@example.com/a.png"), "user name", true},
		"redirect to there": {imagegen.URL("gopher://x"), "http or https", true},
	} {
		_, err := fake.Client(func(c *imagegen.Config) { c.Fetch = imagegen.Fetch{} }).Generate(t.Context(), withRefs(test.ref), imagegen.Memory())
		require.ErrorContains(t, err, test.text, name)
		require.NotContains(t, err.Error(), "secret")
		var e *imagegen.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, "reference", e.Op)
		require.False(t, e.MayHaveRun)
		require.Equal(t, test.permanent, e.Permanent(), name)
	}
	require.Zero(t, fake.Counts().Requests)
}

// Several files one after the other, larger than any buffer, with others between them.
func TestFilesSentByTheKernelArriveWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var refs []imagegen.Ref
	var want [][]byte
	for i := range 3 {
		data := append(bytes.Clone(pngHead), bytes.Repeat([]byte{byte(i), 7, 9}, 700_000+i)...)
		name := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, os.WriteFile(name, data, 0o600))
		refs = append(refs, imagegen.File(name), imagegen.Bytes("b", data[:1000+i]))
		want = append(want, data, data[:1000+i])
	}
	fake := imagegentest.New(t, imagegentest.Options{})
	client := fake.Client(func(c *imagegen.Config) { c.BaseURL, c.HTTPClient = fake.Listen(), nil })
	for range 2 {
		_, err := client.Generate(t.Context(), withRefs(refs...), imagegen.Memory())
		require.NoError(t, err)
	}
	for _, post := range fake.Counts().Posts {
		for i, f := range post.Files {
			require.True(t, bytes.Equal(want[i], f.Data), "file %d", i)
		}
	}
}

func TestFileThatShrinksWhileTheKernelSendsIt(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.png")
	require.NoError(t, os.WriteFile(name, append(bytes.Clone(pngHead), make([]byte, 1<<20)...), 0o600))
	fake := imagegentest.New(t, imagegentest.Options{})
	client := fake.Client(func(c *imagegen.Config) { c.BaseURL, c.HTTPClient = fake.Listen(), nil })
	_, err := client.Generate(t.Context(), withRefs(imagegen.Source("a", 2<<20, func() (io.ReadCloser, error) { return os.Open(name) })), imagegen.Memory())
	require.ErrorContains(t, err, "shorter")
	require.Zero(t, fake.Counts().Generations)
}

func TestReferenceThatShrinksWhileItIsSent(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	_, err := fake.Client(nil).Generate(t.Context(), withRefs(imagegen.Source("a.png", 1<<20, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(pngHead)), nil
	})), imagegen.Memory())
	require.ErrorContains(t, err, "shorter")
	require.Zero(t, fake.Counts().Generations)
	var e *imagegen.Error
	require.ErrorAs(t, err, &e)
	require.False(t, e.MayHaveRun)
	require.Equal(t, 1, e.Attempts)
}

func TestPlainReaderServesOneCall(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	req := withRefs(imagegen.Reader("a", io.MultiReader(bytes.NewReader(pngHead))))
	_, err := fake.Client(nil).Generate(t.Context(), req, imagegen.Memory())
	require.NoError(t, err)
	_, err = fake.Client(nil).Generate(t.Context(), req, imagegen.Memory())
	require.ErrorContains(t, err, "earlier call")
}

func TestSlowReferenceAddressHitsItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{})
		client := fake.Client(func(c *imagegen.Config) {
			c.Fetch.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})}
		})
		began := time.Now()
		_, err := client.Generate(t.Context(), withRefs(imagegen.URL("http://slow.example/a.png")), imagegen.Memory())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(began))
		require.Zero(t, fake.Counts().Requests)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fetched lets the fake answer with address and fetch from a client that serves only answers.
func fetched(t *testing.T, address string, answers func(r *http.Request) *http.Response) (*imagegen.Result, error) {
	fake := imagegentest.New(t, imagegentest.Options{})
	fake.Script(imagegentest.Raw(fmt.Sprintf(`{"data":[{"url":%q}]}`, address)))
	return fake.Client(func(c *imagegen.Config) {
		c.Fetch.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := answers(r)
			if resp.Body == nil {
				resp.Body = http.NoBody
			}
			return resp, nil
		})}
	}).Generate(t.Context(), fox(), imagegen.Memory())
}

func TestResultAddresses(t *testing.T) {
	t.Parallel()
	body := func(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }
	synctestRun(t, "the key goes to the service's own origin only", func(t *testing.T) {
		_, err := fetched(t, "http://cdn.example/x.png?sig=secret", func(r *http.Request) *http.Response {
			require.Empty(t, r.Header.Get("Authorization"))
			return &http.Response{StatusCode: 200, Body: body(string(pngHead))}
		})
		require.NoError(t, err)
	})
	synctestRun(t, "a page instead of the image", func(t *testing.T) {
		_, err := fetched(t, "http://cdn.example/x.png?sig=secret", func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Body: body("<html>expired</html>")}
		})
		require.ErrorIs(t, err, imagegen.ErrNotImage)
		require.NotContains(t, err.Error(), "secret")
	})
	synctestRun(t, "network faults are retried", func(t *testing.T) {
		n := 0
		r, err := fetched(t, "http://cdn.example/x.png", func(*http.Request) *http.Response {
			if n++; n < 3 {
				return &http.Response{StatusCode: 200, ContentLength: 100, Body: body(string(pngHead[:9]) + "cut")}
			}
			return &http.Response{StatusCode: 200, ContentLength: -1, Body: body(string(pngHead))}
		})
		_ = r
		require.NoError(t, err)
	})
	synctestRun(t, "at most three redirects", func(t *testing.T) {
		n := 0
		_, err := fetched(t, "http://cdn.example/x.png", func(*http.Request) *http.Response {
			n++
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"/again"}}}
		})
		require.ErrorContains(t, err, "redirects")
		require.Equal(t, 4*3, n, "each of three tries has one request and three redirects")
	})
	synctestRun(t, "a redirect out of http", func(t *testing.T) {
		_, err := fetched(t, "http://cdn.example/x.png", func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"file:///etc/passwd"}}}
		})
		require.ErrorContains(t, err, "http or https")
	})
	synctestRun(t, "expired without a task to ask", func(t *testing.T) {
		n := 0
		_, err := fetched(t, "http://cdn.example/x.png", func(*http.Request) *http.Response {
			n++
			return &http.Response{StatusCode: 410}
		})
		var e *imagegen.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, 410, e.Status)
		require.True(t, e.MayHaveRun)
		require.Equal(t, 1, n)
	})
	synctestRun(t, "the type comes from the header when the bytes say nothing", func(t *testing.T) {
		r, err := fetched(t, "http://cdn.example/x", func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"image/jxl; q=1"}}, Body: body("\xff\x0a\x00\x01")}
		})
		require.NoError(t, err)
		require.Equal(t, "image/jxl", r.Images[0].Type)
	})
}

func TestResultsOnOtherHostsAndMirrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.ByURL, OtherHost: true, Mirrors: 2})
		fake.Script(imagegentest.Expired(1)) // the first fetch of each address fails, also of the mirror
		_, err := fake.Client(nil).Generate(t.Context(), fox(), imagegen.Memory())
		require.Error(t, err)
		require.Equal(t, 2, fake.Counts().Files)

		r, err := fake.Client(nil).Generate(t.Context(), fox(), imagegen.Memory())
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(r.Images[0].URL, "http://"+imagegentest.FilesHost))
		require.NotContains(t, r.Images[0].URL, "sig")
	})
}

// A result on a loopback port that is not the service's is not fetched.
func TestResultAddressesAreGuarded(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	site := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached.Store(true) })}}
	site.Start()
	t.Cleanup(site.Close)
	for _, address := range []string{site.URL, strings.Replace(site.URL, "127.0.0.1", "localhost", 1), strings.Replace(site.URL, "127.0.0.1", "0.0.0.0", 1),
		strings.Replace(site.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1), "http://169.254.169.254/latest", "http://10.0.0.1/", "http://[::1]/"} {
		fake := imagegentest.New(t, imagegentest.Options{})
		fake.Script(imagegentest.Raw(fmt.Sprintf(`{"data":[{"url":%q}]}`, address)))
		_, err := fake.Client(func(c *imagegen.Config) { c.Fetch.Client = nil }).Generate(t.Context(), fox(), imagegen.Memory())
		require.ErrorIs(t, err, imagegen.ErrBlockedAddress, address)
	}
	require.False(t, reached.Load())
}

// The host of the service is trusted with results on another port, where the key does not go; for references it is not.
func TestOwnHostOnAnotherPort(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent to another port")
		}
		_, _ = w.Write(pngHead)
	}))
	t.Cleanup(site.Close)
	fake := imagegentest.New(t, imagegentest.Options{})
	client := fake.Client(func(c *imagegen.Config) { c.BaseURL, c.HTTPClient, c.Fetch.Client = fake.Listen(), nil, nil })
	fake.Script(imagegentest.Raw(fmt.Sprintf(`{"data":[{"url":%q}]}`, site.URL)))
	_, err := client.Generate(t.Context(), fox(), imagegen.Memory())
	require.NoError(t, err)
	_, err = client.Generate(t.Context(), withRefs(imagegen.URL(site.URL)), imagegen.Memory())
	require.ErrorIs(t, err, imagegen.ErrBlockedAddress)
}

func TestLogsAndValuesHideSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async})
		fake.Script(imagegentest.Status(429, time.Second), imagegentest.Polls(500))
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		var client *imagegen.Client
		req := withRefs(imagegen.DataURL("data:image/png;base64,"+base64.StdEncoding.EncodeToString(pngHead)), imagegen.Bytes("b", pngHead))
		req.Prompt = "a private wish"
		client = fake.Client(func(c *imagegen.Config) {
			c.Logger = log
			log.Info("start", "config", *c, "request", req, "ref", req.Refs[0])
			log.Info(fmt.Sprintf("%v %+v %v", *c, *c, req.Refs))
		})
		_, err := client.Generate(t.Context(), req, imagegen.Memory())
		require.NoError(t, err)
		log.Info("end", "client", client)
		text := out.String() + fmt.Sprintf("%v %+v %#v", client, client, client)
		for _, secret := range []string{imagegentest.Key, "secret-signature", "private wish", "iVBOR"} {
			require.NotContains(t, text, secret)
		}
		require.Contains(t, text, "path=/v1/images/edits")
		require.Contains(t, text, "poll failed")
	})
}
