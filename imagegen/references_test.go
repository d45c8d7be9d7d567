package imagegen_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

var pngHead = []byte("\x89PNG\r\n\x1a\n and so on")

func withRefs(refs ...imagegen.Reference) *imagegen.Request {
	return &imagegen.Request{Prompt: "x", References: refs}
}

func TestReferencesOfEveryKindAreSentCompletely(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "from file.PNG")
	require.NoError(t, os.WriteFile(path, pngHead, 0o600))
	large := append(bytes.Clone(pngHead),
		bytes.Repeat([]byte("x"), 9<<20)...) // larger than what is buffered in memory
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent for a reference")
		}
		if r.URL.Path == "/moved/cat.png" {
			http.Redirect(w, r, "/pics/cat.png?v=2", http.StatusFound)
			return
		}
		if r.URL.Path == "/large.png" {
			_, _ = w.Write(large)
			return
		}
		_, _ = w.Write(pngHead)
	}))
	t.Cleanup(site.Close)
	data := base64.StdEncoding.EncodeToString(pngHead)
	refs := map[string]struct {
		ref        imagegen.Reference
		name, kind string
		data       []byte
	}{
		"file":            {imagegen.File(path), "from file.png", "image/png", pngHead},
		"bytes":           {imagegen.Bytes("a/b\\c\"\n.png", pngHead), "c\".png", "image/png", pngHead},
		"wrong extension": {imagegen.Bytes("cat.jpg", pngHead), "cat.png", "image/png", pngHead},
		"no name":         {imagegen.Bytes("", pngHead), "image-1.png", "image/png", pngHead},
		"declared": {imagegen.Bytes("a", []byte("????")).Type("image/avif"), "a.avif", "image/avif",
			[]byte("????")},
		"avif": {imagegen.Bytes("a", []byte("\x00\x00\x00\x20ftypavif....")), "a.avif", "image/avif",
			[]byte("\x00\x00\x00\x20ftypavif....")},
		"heic": {imagegen.Bytes("a", []byte("\x00\x00\x00\x20ftypheic....")), "a.heic", "image/heic",
			[]byte("\x00\x00\x00\x20ftypheic....")},
		"svg": {imagegen.Bytes("a", []byte("<?xml version='1.0'?><svg/>")), "a.svg", "image/svg+xml",
			[]byte("<?xml version='1.0'?><svg/>")},
		"webp": {imagegen.Bytes("a", []byte("RIFF....WEBPVP8 ")), "a.webp", "image/webp",
			[]byte("RIFF....WEBPVP8 ")},
		"large address": {imagegen.URL(site.URL + "/large.png"), "large.png", "image/png", large},
		"data URL":      {imagegen.DataURL("data:image/png;base64," + data), "image-1.png", "image/png", pngHead},
		"bare base64": {imagegen.DataURL(data[:5] + "\n" + data[5:]), "image-1.png", "image/png",
			pngHead},
		"address": {imagegen.URL(site.URL + "/moved/cat.png"), "cat.png", "image/png", pngHead},
	}
	for name, test := range refs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := imagegentest.New(t, imagegentest.Options{})
			client := fake.Client(func(c *imagegen.Config) { // on a real connection, with the default clients
				c.BaseURL, c.HTTPClient, c.FetchClient, c.AllowPrivate = fake.Listen(), nil, nil, true
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

func TestInvalidReferencesAreNotSent(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	for name, test := range map[string]struct {
		ref       imagegen.Reference
		text      string
		permanent bool
	}{
		"missing file":     {imagegen.File("/does/not/exist.png"), "no such file", true},
		"directory":        {imagegen.File(t.TempDir()), "not a regular file", false},
		"empty":            {imagegen.Bytes("a.png", nil), "empty", true},
		"text":             {imagegen.Bytes("a.png", []byte("hello, world")), "text/plain", true},
		"declared as text": {imagegen.Bytes("a.png", pngHead).Type("text/html"), "text/html", true},
		"too large":        {imagegen.Source("a.png", 51_000_000, nil), "too large", true},
		"no data":          {imagegen.Reference{}, "neither data nor a URL", true},
		"bad base64":       {imagegen.DataURL("data:image/png;base64,%%%"), "base64", true},
		"private address":  {imagegen.URL(site.URL), "not public", true},
		"file address":     {imagegen.URL("file:///etc/passwd"), "http or https", true},
		"user in address":  {imagegen.URL("http://me:secret@example.com/a.png"), "user name", true},
	} {
		_, err := fake.Client(func(c *imagegen.Config) { c.FetchClient = nil }).Generate(t.Context(),
			withRefs(test.ref), imagegen.Memory())
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

func TestReferenceThatShrinksWhileItIsSent(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	_, err := fake.Client(nil).Generate(t.Context(),
		withRefs(imagegen.Source("a.png", 1<<20, func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(pngHead)), nil
		})), imagegen.Memory())
	require.ErrorContains(t, err, "shorter")
	require.Zero(t, fake.Counts().Generations)
	e := errorOf[*imagegen.Error](t, err)
	require.False(t, e.MayHaveRun)
	require.Equal(t, 1, e.Attempts)
}

func TestSlowReferenceAddressHitsItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{})
		client := fake.Client(func(c *imagegen.Config) {
			c.FetchClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
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
