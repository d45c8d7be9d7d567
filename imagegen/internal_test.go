package imagegen

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"io"
	"net/url"
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

// Three large segments and a short one, as cameras write, come before the dimensions.
func TestDimensionsAreFoundBehindMuchMetadata(t *testing.T) {
	t.Parallel()
	var plain bytes.Buffer
	require.NoError(t, jpeg.Encode(&plain, image.NewRGBA(image.Rect(0, 0, 123, 45)), nil))
	data := []byte{0xff, 0xd8}
	for range 3 {
		data = append(append(data, 0xff, 0xe1, 0xff, 0xff), make([]byte, 0xfffd)...)
	}
	data = append(append(data, 0xff, 0xfe, 0, 3, 'x', 0xff), plain.Bytes()[2:]...)
	for _, piece := range []int{1, 1000, 1 << 20} {
		d := newDimensions()
		for rest := data; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			d.write(rest[:min(piece, len(rest))])
		}
		w, h := d.size()
		require.Equal(t, [2]int{123, 45}, [2]int{w, h}, "in pieces of %d", piece)
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
