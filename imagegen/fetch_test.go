package imagegen_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fetched calls Generate with a service that responds with a URL, and a FetchClient that returns
// answers.
func fetched(t *testing.T, address string, answers func(r *http.Request) *http.Response) (*imagegen.Result, error) {
	return fetchedInto(t, imagegen.Memory(), address, answers)
}

func fetchedInto(
	t *testing.T, sink imagegen.Sink, address string, answers func(r *http.Request) *http.Response,
) (*imagegen.Result, error) {
	fake := imagegentest.New(t, imagegentest.Options{})
	fake.Script(imagegentest.Raw(fmt.Sprintf(`{"data":[{"url":%q}]}`, address)))
	return fake.Client(func(c *imagegen.Config) {
		c.FetchClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := answers(r)
			if resp.Body == nil {
				resp.Body = http.NoBody
			}
			return resp, nil
		})}
	}).Generate(t.Context(), fox(), sink)
}

func TestFetchingResults(t *testing.T) {
	t.Parallel()
	body := func(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }
	synctestRun(t, "HTML instead of the image", func(t *testing.T) {
		_, err := fetched(t, "http://cdn.example/x.png?sig=secret", func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Body: body("<html>expired</html>")}
		})
		require.ErrorIs(t, err, imagegen.ErrNotImage)
		require.NotContains(t, err.Error(), "secret")
	})
	synctestRun(t, "network faults are retried, and an image that is not there yet", func(t *testing.T) {
		n := 0
		r, err := fetched(t, "http://cdn.example/x.png?sig=secret", func(*http.Request) *http.Response {
			if n++; n == 1 {
				return &http.Response{StatusCode: 404}
			}
			if n < 7 {
				cut := io.MultiReader(bytes.NewReader(pngHead), iotest.ErrReader(io.ErrUnexpectedEOF))
				return &http.Response{StatusCode: 200, Body: io.NopCloser(cut)}
			}
			return &http.Response{StatusCode: 200, Body: body(string(pngHead))}
		})
		require.NoError(t, err)
		require.Equal(t, 7, n)
		require.Equal(t, "http://cdn.example/x.png?…", r.Images[0].URL)
	})
	synctestRun(t, "a host that never answers is not waited for again and again", func(t *testing.T) {
		n := 0
		_, err := fetched(t, "http://cdn.example/x.png", func(r *http.Request) *http.Response {
			n++
			<-r.Context().Done()
			return &http.Response{StatusCode: 504}
		})
		require.ErrorContains(t, err, "504")
		require.Equal(t, 3, n)
	})
	synctestRun(t, "a writer takes no second try, and the error is that of the first", func(t *testing.T) {
		n := 0
		_, err := fetchedInto(t, imagegen.Writer(io.Discard), "http://cdn.example/x.png",
			func(*http.Request) *http.Response {
				n++
				cut := io.MultiReader(bytes.NewReader(pngHead), strings.NewReader(strings.Repeat("x", 1e5)),
					iotest.ErrReader(io.ErrUnexpectedEOF))
				return &http.Response{StatusCode: 200, Body: io.NopCloser(cut)}
			})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "a writer accepts one image only")
		require.Equal(t, 2, n)
	})
	synctestRun(t, "at most three redirects", func(t *testing.T) {
		n := 0
		_, err := fetched(t, "http://cdn.example/x.png", func(*http.Request) *http.Response {
			n++
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"/again"}}}
		})
		require.ErrorContains(t, err, "redirects")
		require.Equal(t, 4*7, n, "each of seven tries has one request and three redirects")
	})
	synctestRun(t, "a redirect out of http", func(t *testing.T) {
		_, err := fetched(t, "http://cdn.example/x.png", func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"file:///etc/passwd"}}}
		})
		require.ErrorContains(t, err, "http or https")
	})
	synctestRun(t, "expired without a task to poll", func(t *testing.T) {
		n := 0
		_, err := fetched(t, "http://cdn.example/x.png", func(*http.Request) *http.Response {
			n++
			return &http.Response{StatusCode: 410}
		})
		e := errorOf[*imagegen.Error](t, err)
		require.Equal(t, 410, e.Status)
		require.True(t, e.MayHaveRun)
		require.Equal(t, 7, n)
	})
	synctestRun(t, "the type is that of the header if the data is unknown", func(t *testing.T) {
		r, err := fetched(t, "http://cdn.example/x", func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"image/jxl; q=1"}},
				Body: body("\xff\x0a\x00\x01")}
		})
		require.NoError(t, err)
		require.Equal(t, "image/jxl", r.Images[0].Type)
	})
}

// A result on a loopback port that is not the service's is not fetched.
func TestResultsOnPrivateNetworksAreBlocked(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(site.Close)
	for _, address := range []string{site.URL, strings.Replace(site.URL, "127.0.0.1", "localhost", 1),
		strings.Replace(site.URL, "127.0.0.1", "0.0.0.0", 1),
		strings.Replace(site.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1), "http://169.254.169.254/latest",
		"http://10.0.0.1/", "http://[::1]/"} {
		fake := imagegentest.New(t, imagegentest.Options{})
		fake.Script(imagegentest.Raw(fmt.Sprintf(`{"data":[{"url":%q}]}`, address)))
		_, err := fake.Client(func(c *imagegen.Config) { c.FetchClient = nil }).Generate(t.Context(), fox(),
			imagegen.Memory())
		require.ErrorIs(t, err, imagegen.ErrBlockedAddress, address)
	}
	require.False(t, reached.Load())
}

// Results may be on another port of the service's host, which does not receive the API key.
// References may not.
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
	client := fake.Client(func(c *imagegen.Config) {
		c.BaseURL, c.HTTPClient, c.FetchClient = fake.Listen(), nil, nil
	})
	fake.Script(imagegentest.Raw(fmt.Sprintf(`{"data":[{"url":%q}]}`, site.URL)))
	_, err := client.Generate(t.Context(), fox(), imagegen.Memory())
	require.NoError(t, err)
	_, err = client.Generate(t.Context(), withRefs(imagegen.URL(site.URL)), imagegen.Memory())
	require.ErrorIs(t, err, imagegen.ErrBlockedAddress)
}

// A reference at the service's own origin is fetched, also on a private network, but without the
// key.
func TestReferenceAtTheOwnOrigin(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip") // some proxies compress whatever they pass on
		zipped := gzip.NewWriter(w)
		defer zipped.Close()
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(zipped, `{"data":[{"b64_json":"iVBORw0KGgoAAAAN"}]}`)
			return
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent for a reference")
		}
		_, _ = zipped.Write(pngHead)
	}))
	t.Cleanup(site.Close)
	client, err := imagegen.New(imagegen.Config{BaseURL: site.URL, APIKey: "secret"})
	require.NoError(t, err)
	_, err = client.Generate(t.Context(), withRefs(imagegen.URL(site.URL+"/a.png")), imagegen.Memory())
	require.NoError(t, err)
}

func TestLogsAndValuesHideSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async})
		fake.Script(imagegentest.Status(429, time.Second), imagegentest.Polls(500))
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		var client *imagegen.Client
		req := withRefs(imagegen.DataURL("data:image/png;base64,"+base64.StdEncoding.EncodeToString(pngHead)),
			imagegen.Bytes("b", pngHead))
		req.Prompt = "a secret prompt"
		client = fake.Client(func(c *imagegen.Config) {
			c.Logger = log
			log.Info("start", "config", *c, "request", req, "ref", req.References[0])
			log.Info(fmt.Sprintf("%v %+v %v", *c, *c, req.References))
		})
		_, err := client.Generate(t.Context(), req, imagegen.Memory())
		require.NoError(t, err)
		log.Info("end", "client", client)
		text := out.String() + fmt.Sprintf("%v %+v %#v", client, client, client)
		for _, secret := range []string{imagegentest.APIKey, "secret-signature", "secret prompt", "iVBOR"} {
			require.NotContains(t, text, secret)
		}
		require.Contains(t, text, "path=/v1/images/edits")
		require.Contains(t, text, "poll failed")
	})
}
