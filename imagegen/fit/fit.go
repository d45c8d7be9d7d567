// Package fit crops images to a ratio on their way into a sink. The service treats the ratio of a
// request as a wish, so a caller that needs a fixed frame puts [Sink] before its own sink:
//
//	sink := fit.Sink(imagegen.Dir(".", "fox{ext}"), fit.Config{Ratio: "16:9"})
//
// The crop is the largest centered one. An image that has the ratio within 1 % is stored unchanged;
// a cropped one is encoded again, PNG and WebP as PNG and JPEG as JPEG, and loses its metadata.
// EXIF orientation is applied first, so the image is cropped as it is displayed.
//
// A generation is paid, so an image that cannot be cropped (another format, too many pixels,
// invalid data) is never dropped: it is stored unchanged, and [Config].OnUncropped receives the
// reason.
package fit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"

	_ "golang.org/x/image/webp" // for image.Decode

	"lessonkit.example/imagegen"
)

// ErrUnsupported reports an image of another format than PNG, JPEG and WebP.
var ErrUnsupported = errors.New("only PNG, JPEG and WebP can be cropped")

// ErrTooManyPixels reports an image of more than [Config].MaxPixels.
var ErrTooManyPixels = errors.New("image has too many pixels to be cropped")

// Config configures cropping.
type Config struct {
	// Ratio is the ratio to crop to. If empty, images are not cropped.
	Ratio imagegen.Ratio

	// MaxPixels limits the images that are decoded, which takes at least 4 bytes per pixel.
	// Defaults to 100 million.
	MaxPixels int

	// OnUncropped, if not nil, is called for each image that could not be cropped and was stored
	// unchanged. It must be safe for concurrent use if several calls use the sink.
	OnUncropped func(imagegen.Info, error)
}

// Crop returns an encoded image cropped, with its media type. It returns data itself if the image
// has the ratio already. Errors wrap [ErrUnsupported], [ErrTooManyPixels] or the error of the
// decoder.
func Crop(data []byte, c Config) (cropped []byte, mediaType string, err error) {
	header, format, err := image.DecodeConfig(bytes.NewReader(data))
	mediaType = "image/" + format
	if errors.Is(err, image.ErrFormat) || err == nil && !supported(mediaType) {
		return nil, "", ErrUnsupported
	}
	if err != nil {
		return nil, "", err
	}
	turn := orientation(data, mediaType)
	w, h := header.Width, header.Height
	if turn >= 5 {
		w, h = h, w
	}
	if c.Ratio.Matches(w, h) {
		return data, mediaType, nil
	}
	maxPixels := cmp.Or(c.MaxPixels, 100_000_000)
	if w <= 0 || h <= 0 || w > maxPixels/h {
		return nil, "", fmt.Errorf("%w: %dx%d, at most %d", ErrTooManyPixels, w, h, maxPixels)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", err
	}
	x, y, cw, ch := c.Ratio.Crop(w, h)
	img = upright(img, turn, image.Rect(x, y, x+cw, y+ch))
	var out bytes.Buffer
	if format == "jpeg" {
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: 92})
	} else {
		mediaType = "image/png"
		err = png.Encode(&out, img)
	}
	return out.Bytes(), mediaType, err
}

func supported(mediaType string) bool {
	return mediaType == "image/png" || mediaType == "image/jpeg" || mediaType == "image/webp"
}

// Sink returns a sink that crops every image before passing it to next. It holds one encoded image
// in memory at a time, and its pixels while it crops; the image is cropped and passed on when it is
// committed. Images of unsupported formats are not held.
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
	if s.c.Ratio == "" {
		return s.next.Open(ctx, info)
	}
	if !supported(info.Type) {
		s.uncropped(info, fmt.Errorf("%w, not %s", ErrUnsupported, info.Type))
		return s.next.Open(ctx, info)
	}
	return &blob{ctx: ctx, s: s, info: info}, nil
}

func (s *sink) uncropped(info imagegen.Info, err error) {
	if s.c.OnUncropped != nil {
		s.c.OnUncropped(info, err)
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
	data, mediaType, err := Crop(b.Bytes(), b.s.c)
	if err != nil {
		b.s.uncropped(b.info, err)
		data, mediaType = b.Bytes(), b.info.Type
	}
	b.info.Size = int64(len(data))
	if mediaType != b.info.Type {
		b.info.Type, b.info.Ext = mediaType, ".png"
	}
	if header, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		b.info.Width, b.info.Height = header.Width, header.Height
	}
	if b.next, err = b.s.next.Open(b.ctx, b.info); err != nil {
		return err
	}
	if _, err := b.next.Write(data); err != nil {
		return errors.Join(err, b.next.Abort())
	}
	b.Buffer = bytes.Buffer{}
	return b.next.Commit()
}

func (b *blob) Abort() error { return nil }

// Describe implements [imagegen.Describer].
func (b *blob) Describe(info *imagegen.Info) {
	info.Type, info.Ext = b.info.Type, b.info.Ext
	info.Width, info.Height, info.Size = b.info.Width, b.info.Height, b.info.Size
	if d, ok := b.next.(imagegen.Describer); ok {
		d.Describe(info)
	}
}
