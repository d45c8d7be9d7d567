package imagegen

import (
	"bytes"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddressesAreRedacted(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://h/p?sig=s#f":       "https://h/p?…",
		"https://user:secret@h/p":   "https://h/p",
		"data:image/png;base64,AAA": "data:…",
		"http://h\x7f/secret":       "(malformed address)",
	} {
		require.Equal(t, want, redact(in))
	}
	for _, pair := range [][2]string{{"http://H/", "http://h:80/x"}, {"https://h", "https://h:443"}} {
		a, _ := url.Parse(pair[0])
		b, _ := url.Parse(pair[1])
		require.Equal(t, origin(a), origin(b))
	}
}

func TestDimensionsAreFoundInPieces(t *testing.T) {
	t.Parallel()
	for name, data := range encoded(t) {
		for _, piece := range []int{1, 2, 3, 7, 1000, 1 << 20} {
			var d dimensions
			for r := bytes.NewReader(data); r.Len() > 0; {
				p, err := io.ReadAll(io.LimitReader(r, int64(piece)))
				require.NoError(t, err)
				d.write(p)
			}
			w, h := d.size()
			require.Equal(t, [2]int{123, 45}, [2]int{w, h}, "%s in pieces of %d", name, piece)
		}
	}
}

// FuzzDimensions compares with the decoders of the standard library, as far as those can read the
// header.
func FuzzDimensions(f *testing.F) {
	for _, data := range []string{"\xff\xd8\xff\xe0", "GIF89a\x01\x00\x02\x00", "\x89PNG\r\n\x1a\n"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d dimensions
		d.write(data)
		w, h := d.size()
		if c, kind, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && kind != "jpeg" && len(data) >= 30 {
			require.Equal(t, [2]int{c.Width, c.Height}, [2]int{w, h})
		}
	})
}

// repeat is an endless body without allocations.
type repeat struct{ parts []part }

type part struct {
	text string
	n    int // times
}

func (r *repeat) Read(p []byte) (n int, err error) {
	for len(r.parts) > 0 && n < len(p) {
		now := &r.parts[0]
		for now.n > 0 && len(p)-n >= len(now.text) {
			n += copy(p[n:], now.text)
			now.n--
		}
		if now.n > 0 {
			return n, nil
		}
		r.parts = r.parts[1:]
	}
	if len(r.parts) == 0 {
		err = io.EOF
	}
	return n, err
}

func (r *repeat) Close() error { return nil }

type answering func() io.ReadCloser

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Body: f(), ContentLength: -1, Request: r}, nil
}

// An image that is received again, after a failed attempt, counts once.
func TestAbortedImagesDoNotCount(t *testing.T) {
	t.Parallel()
	c, err := New(Config{BaseURL: "http://images.test"})
	require.NoError(t, err)
	call := c.newCall()
	before := call.left
	for _, n := range []int{10, 10_000} { // before and after the sink is opened
		in := call.incoming(t.Context(), Memory(), Info{})
		_, err = in.Write(bytes.Repeat([]byte("GIF89a"), n))
		require.NoError(t, err)
		require.Equal(t, before-int64(6*n), call.left)
		in.fail(io.ErrUnexpectedEOF)
		require.Equal(t, before, call.left)
	}
}

// However many references a request has, those in memory have a common limit.
func TestFetchedReferencesShareTheirMemory(t *testing.T) {
	t.Parallel()
	image := append([]byte("GIF89a"), make([]byte, 5<<20)...)
	serve := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(image) }
	site := httptest.NewServer(http.HandlerFunc(serve))
	t.Cleanup(site.Close)
	c, err := New(Config{BaseURL: "http://images.test", AllowPrivate: true})
	require.NoError(t, err)
	files, free, err := c.newCall().attach(t.Context(), []Reference{URL(site.URL), URL(site.URL), URL(site.URL)})
	require.NoError(t, err)
	defer free()
	inMemory := 0
	for _, f := range files {
		if f.free == nil {
			inMemory++
		}
		r, err := f.open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, data))
	}
	require.Equal(t, 1, inMemory)
}

// The memory a call allocates does not depend on the number and size of its images.
func TestFourLargeImagesAllocateLessThanAMegabyte(t *testing.T) {
	const megabytes = 32
	head := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" + strings.Repeat("A", 980)
	body := func() io.ReadCloser {
		r := &repeat{parts: []part{{`{"data":[`, 1}}}
		for i := range 4 {
			if i > 0 {
				r.parts = append(r.parts, part{",", 1})
			}
			r.parts = append(r.parts, part{`{"b64_json":"`, 1}, part{head, 1},
				part{strings.Repeat("A", 1024), megabytes << 10 * 4 / 3}, part{`"}`, 1})
		}
		r.parts = append(r.parts, part{`]}`, 1})
		return r
	}
	c, err := New(Config{BaseURL: "http://images.test", HTTPClient: &http.Client{Transport: answering(body)}})
	require.NoError(t, err)
	dir, err := os.MkdirTemp(t.TempDir(), "")
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := c.Generate(t.Context(), &Request{Prompt: "x", N: 4}, Dir(dir, ""))
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, r.Images, 4)
	require.Greater(t, r.Images[3].Size, int64(megabytes<<20))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// The default transport uses HTTP/2 if the service does, also to send files.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.png")
	data := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte("x"), 3<<20)...)
	require.NoError(t, os.WriteFile(name, data, 0o600))
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("protocol %s", r.Proto)
		}
		f, _, err := r.FormFile("image[]")
		if err != nil {
			t.Error(err)
			return
		}
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(data, got) {
			t.Errorf("%d bytes instead of %d, %v", len(got), len(data), err)
		}
		_, _ = io.WriteString(w, `{"data":[{"b64_json":"iVBORw0KGgoAAAAN"}]}`)
	}))
	site.EnableHTTP2 = true
	site.StartTLS()
	t.Cleanup(site.Close)
	transport := newTransport(&net.Dialer{})
	transport.TLSClientConfig = site.Client().Transport.(*http.Transport).TLSClientConfig
	c, err := New(Config{BaseURL: site.URL, HTTPClient: &http.Client{Transport: transport}})
	require.NoError(t, err)
	r, err := c.Generate(t.Context(), &Request{Prompt: "x", References: []Reference{File(name)}}, Memory())
	require.NoError(t, err)
	require.Len(t, r.Images, 1)
}

// A Memory sink allocates according to the length of the response.
func TestMemorySinkAllocatesLittleMoreThanTheImage(t *testing.T) {
	text := strings.Repeat("iVBORw0KGgoA", 1<<20)
	doc := `{"data":[{"b64_json":"` + text + `"}]}`
	c, err := New(Config{BaseURL: "http://images.test",
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(doc)),
				ContentLength: int64(len(doc)), Request: r}
		})}})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	images := Memory()
	_, err = c.Generate(t.Context(), &Request{Prompt: "x", N: 1}, images)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, float64(after.TotalAlloc-before.TotalAlloc), 1.1*float64(len(images.Get(0))))
}

type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func encoded(t *testing.T) map[string][]byte {
	img := image.NewRGBA(image.Rect(0, 0, 123, 45))
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(noise.Uint32())
	}
	all := map[string][]byte{}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	all["png"] = bytes.Clone(b.Bytes())
	b.Reset()
	require.NoError(t, gif.Encode(&b, img, nil))
	all["gif"] = bytes.Clone(b.Bytes())
	b.Reset()
	require.NoError(t, jpeg.Encode(&b, img, nil))
	plain := bytes.Clone(b.Bytes())
	all["jpeg"] = plain
	meta := []byte{0xff, 0xd8}
	for range 3 { // three large segments and a short one, as cameras write
		meta = append(append(meta, 0xff, 0xe1, 0xff, 0xff), make([]byte, 0xfffd)...)
	}
	meta = append(meta, 0xff, 0xfe, 0, 3, 'x', 0xff)
	all["jpeg with much metadata"] = append(meta, plain[2:]...)
	all["webp lossy"] = []byte("RIFF....WEBPVP8 ....\x00\x00\x00\x9d\x01\x2a\x7b\x00\x2d\x00")
	all["webp lossless"] = []byte("RIFF....WEBPVP8L....\x2f\x7a\x00\x0b\x00....................")
	all["webp extended"] = []byte("RIFF....WEBPVP8X....\x00\x00\x00\x00\x7a\x00\x00\x2c\x00\x00")
	return all
}

// FAT and many network file systems have no hard links: images are stored all the same, and never
// replace another file.
func TestDirWithoutHardLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sink := dirSink{dir, "fox{ext}", func(string, string) error { return errors.ErrUnsupported }}
	require.NoError(t, sink.Prepare(t.Context(), 1))
	for _, text := range []string{"one", "two"} {
		blob, err := sink.Open(t.Context(), Info{Ext: ".png"})
		require.NoError(t, err)
		_, err = io.WriteString(blob, text)
		require.NoError(t, err)
		require.NoError(t, blob.Commit())
	}
	stored, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, stored, 2)
	for name, text := range map[string]string{"fox.png": "one", "fox-2.png": "two"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
}
