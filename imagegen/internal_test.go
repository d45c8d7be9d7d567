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
			d := newDimensions()
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
		in.finish(io.ErrUnexpectedEOF)
		require.Equal(t, before, call.left)
	}
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

// The images of a call have a common limit.
func TestImagesAboveTheLimitOfACallAreRefused(t *testing.T) {
	t.Parallel()
	c, err := New(Config{BaseURL: "http://images.test"})
	require.NoError(t, err)
	call := c.newCall()
	call.left = 15
	images := Memory()
	for i := range 3 {
		in := call.incoming(t.Context(), images, Info{Index: i})
		_, err := in.Write([]byte("GIF89a"))
		in.finish(nil)
		require.Equal(t, i == 2, errors.Is(err, ErrTooLarge))
		require.Equal(t, err, in.commit())
	}
	require.NotNil(t, images.Get(1))
	require.Nil(t, images.Get(2))
}

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
	return all
}
