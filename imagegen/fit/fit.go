// Package fit crops images to a ratio on their way into a sink. The service takes the ratio of a request as a wish, so a caller
// that needs a fixed frame puts [Sink] before its own sink:
//
//	sink := fit.Sink(imagegen.Dir(".", "fox{ext}"), fit.Config{Ratio: "16:9"})
//
// The crop is the largest one around the middle. An image that has the ratio within one per cent is stored as it came, bit for
// bit; a cropped one is encoded anew, PNG and WebP as PNG and JPEG as JPEG, and loses its metadata. EXIF orientation is applied
// first, so that the crop is of the picture as it is shown.
//
// A generation is paid for, so an image that cannot be cropped (another format, too many pixels, broken data) is never dropped:
// it is stored as it came, and [Config].Kept is told why.
package fit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"lessonkit.example/imagegen"
)

// ErrUnsupported tells that the image is of a format that cannot be cropped here.
var ErrUnsupported = errors.New("only PNG, JPEG and WebP can be cropped")

// ErrTooManyPixels tells that decoding the image would take more than [Config].MaxPixels.
var ErrTooManyPixels = errors.New("image has too many pixels to be cropped")

// Config says how to crop.
type Config struct {
	// Ratio is what images are cropped to. If empty, they are left alone.
	Ratio imagegen.Ratio

	// Tolerance is how far from Ratio an image may be and still be left alone. Defaults to 0.01, one per cent.
	Tolerance float64

	// MaxPixels is the most an image may have to be decoded, which takes 4 bytes or more for each. Defaults to 100 million.
	MaxPixels int

	// Quality is that of a JPEG that is encoded anew, 1 to 100. Defaults to 92.
	Quality int

	// Kept, if not nil, is told of each image that could not be cropped and was stored as it came. It may be called from several
	// goroutines when several calls use the sink.
	Kept func(imagegen.Info, error)
}

// Crop reads an encoded image and returns it cropped, with its media type. It returns data itself when the image has the ratio
// already. Errors wrap [ErrUnsupported], [ErrTooManyPixels] or what the decoder said.
func Crop(data []byte, c Config) (cropped []byte, mediaType string, err error) {
	header, kind, err := decodeConfig(data)
	if err != nil {
		return nil, "", err
	}
	mediaType = "image/" + kind
	turn := orientation(data, kind)
	w, h := header.Width, header.Height
	if turn >= 5 {
		w, h = h, w
	}
	if c.Ratio.Matches(w, h) {
		return data, mediaType, nil
	}
	if c.MaxPixels == 0 {
		c.MaxPixels = 100_000_000
	}
	if w <= 0 || h <= 0 || w > c.MaxPixels/h {
		return nil, "", fmt.Errorf("%w: %dx%d, at most %d", ErrTooManyPixels, w, h, c.MaxPixels)
	}
	img, err := decode(data, kind)
	if err != nil {
		return nil, "", err
	}
	x, y, cw, ch := c.Ratio.Crop(w, h)
	img = upright(img, turn, image.Rect(x, y, x+cw, y+ch))
	var out bytes.Buffer
	if kind == "jpeg" {
		if c.Quality == 0 {
			c.Quality = 92
		}
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: c.Quality})
	} else {
		mediaType = "image/png"
		err = png.Encode(&out, img)
	}
	return out.Bytes(), mediaType, err
}

func decodeConfig(data []byte) (image.Config, string, error) {
	r := bytes.NewReader(data)
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		c, err := png.DecodeConfig(r)
		return c, "png", err
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		c, err := jpeg.DecodeConfig(r)
		return c, "jpeg", err
	case len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		c, err := webp.DecodeConfig(r)
		return c, "webp", err
	}
	return image.Config{}, "", ErrUnsupported
}

func decode(data []byte, kind string) (image.Image, error) {
	r := bytes.NewReader(data)
	switch kind {
	case "png":
		return png.Decode(r)
	case "jpeg":
		return jpeg.Decode(r)
	}
	return webp.Decode(r)
}

// Sink returns a sink that crops every image before it goes to next. It holds one encoded image in memory at a time, and its
// pixels while it crops; the image is cropped and handed on when it is committed. What cannot be cropped anyway streams through.
func Sink(next imagegen.Sink, c Config) imagegen.Sink { return &sink{next, c} }

type sink struct {
	next imagegen.Sink
	c    Config
}

// Prepare implements [imagegen.Preparer].
func (s *sink) Prepare(ctx context.Context, n int) error {
	if s.c.Ratio != "" {
		if _, err := imagegen.ParseRatio(string(s.c.Ratio)); err != nil {
			return err
		}
	}
	if p, ok := s.next.(imagegen.Preparer); ok {
		return p.Prepare(ctx, n)
	}
	return nil
}

// Open implements [imagegen.Sink].
func (s *sink) Open(ctx context.Context, info imagegen.Info) (imagegen.Blob, error) {
	switch info.Type {
	case "image/png", "image/jpeg", "image/webp":
		if s.c.Ratio != "" {
			return &blob{ctx: ctx, s: s, info: info}, nil
		}
	default:
		s.kept(info, fmt.Errorf("%w, not %s", ErrUnsupported, info.Type))
	}
	return s.next.Open(ctx, info)
}

func (s *sink) kept(info imagegen.Info, err error) {
	if s.c.Kept != nil && s.c.Ratio != "" {
		s.c.Kept(info, err)
	}
}

type blob struct {
	bytes.Buffer
	ctx  context.Context
	s    *sink
	info imagegen.Info
	next imagegen.Blob
}

func (b *blob) Commit() error {
	data, kind, err := Crop(b.Bytes(), b.s.c)
	if err != nil {
		b.s.kept(b.info, err)
		data, kind = b.Bytes(), b.info.Type
	}
	b.info.Size = int64(len(data))
	if kind != b.info.Type {
		b.info.Type, b.info.Ext = kind, ".png"
	}
	if c, _, err := decodeConfig(data); err == nil {
		b.info.Width, b.info.Height = c.Width, c.Height
	}
	if b.next, err = b.s.next.Open(b.ctx, b.info); err != nil {
		return err
	}
	if _, err := io.Copy(b.next, bytes.NewReader(data)); err != nil {
		return errors.Join(err, b.next.Abort())
	}
	b.Buffer = bytes.Buffer{}
	return b.next.Commit()
}

func (b *blob) Abort() error { return nil }

// Describe implements [imagegen.Describer].
func (b *blob) Describe(info *imagegen.Info) {
	info.Type, info.Ext, info.Width, info.Height, info.Size = b.info.Type, b.info.Ext, b.info.Width, b.info.Height, b.info.Size
	if d, ok := b.next.(imagegen.Describer); ok {
		d.Describe(info)
	}
}
