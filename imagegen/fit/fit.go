// Package fit crops images to a ratio, or converts them to a format, on their way into a sink. The
// service treats the ratio of a request as a wish, so a caller that needs a fixed frame puts [Sink]
// before its own sink:
//
//	sink := fit.Sink(imagegen.Dir(".", "fox{ext}"), fit.Config{Ratio: "16:9"})
//
// The crop is the largest centered one. An image that has the ratio within 1 % is stored unchanged;
// a cropped one is encoded again, PNG and WebP as PNG and JPEG as JPEG unless [Config].Type says
// otherwise, and loses its metadata. EXIF orientation is applied first, so the image is cropped as
// it is displayed.
//
// A generation is paid, so an image that cannot be cropped (another format, too many pixels,
// invalid data) is never dropped: it is stored unchanged, and [Config].OnUncropped receives the
// reason.
package fit

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"

	_ "golang.org/x/image/webp" // for image.Decode

	"lessonkit.example/imagegen"
)

// ErrUnsupported reports an image of another format than PNG, JPEG and WebP, or a [Config].Type
// other than PNG and JPEG.
var ErrUnsupported = errors.New("only PNG, JPEG and WebP can be cropped")

// ErrTooManyPixels reports an image of more than 16 megapixels, or one without memory for it.
var ErrTooManyPixels = errors.New("image has too many pixels to be cropped")

const (
	maxMemory = 256 << 20
	perPixel  = 16 // bytes reserved for decoding, cropping and encoding
	maxPixels = maxMemory / perPixel
)

// Config configures cropping.
type Config struct {
	// Ratio is the ratio to crop to. If empty, images are not cropped.
	Ratio imagegen.Ratio

	// Type, if not empty, is the media type to convert to: "image/png" or "image/jpeg", in which
	// transparent parts become white.
	Type string

	// OnUncropped, if not nil, is called for each image that could not be cropped or converted and
	// was stored unchanged. It must be safe for concurrent use if several calls use the sink.
	OnUncropped func(imagegen.Info, error)
}

func (c Config) check() error {
	if c.Ratio != "" {
		if _, err := imagegen.ParseRatio(string(c.Ratio)); err != nil {
			return err
		}
	}
	if c.Type != "" && c.Type != "image/png" && c.Type != "image/jpeg" {
		return fmt.Errorf("%w to image/png and image/jpeg, not %s", ErrUnsupported, c.Type)
	}
	return nil
}

// plan is what will be done with an image, decided by its header.
type plan struct {
	unchanged   bool
	header      image.Config
	mediaType   string // of the result
	orientation int
	x, y, w, h  int // of the result, in the upright image
}

func newPlan(data []byte, c Config) (*plan, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	header, format, err := image.DecodeConfig(bytes.NewReader(data))
	mediaType := "image/" + format
	if errors.Is(err, image.ErrFormat) || err == nil && !supported(mediaType) {
		return nil, ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	p := &plan{header: header, orientation: orientation(data, mediaType), mediaType: c.Type}
	w, h := header.Width, header.Height
	if p.orientation >= 5 {
		w, h = h, w
	}
	p.x, p.y, p.w, p.h = c.Ratio.Crop(w, h)
	if c.Ratio.Matches(w, h) {
		p.x, p.y, p.w, p.h = 0, 0, w, h
		if p.unchanged = c.Type == "" || c.Type == mediaType; p.unchanged {
			p.mediaType = mediaType
			return p, nil
		}
	}
	if p.mediaType == "" {
		p.mediaType = "image/png"
		if mediaType == "image/jpeg" {
			p.mediaType = mediaType
		}
	}
	if w <= 0 || h <= 0 || w > maxPixels/h {
		return nil, fmt.Errorf("%w: %dx%d, at most %d", ErrTooManyPixels, w, h, maxPixels)
	}
	const maxJPEG = 1<<16 - 1
	if p.mediaType == "image/jpeg" && max(p.w, p.h) > maxJPEG {
		return nil, fmt.Errorf("%w: %dx%d, at most %d on a side of a JPEG", ErrTooManyPixels, p.w, p.h, maxJPEG)
	}
	return p, nil
}

// memory returns about how many bytes decode takes; a progressive JPEG may take twice as many.
func (p *plan) memory() int64 { return perPixel * int64(p.header.Width) * int64(p.header.Height) }

func (p *plan) decode(data []byte) (image.Image, error) {
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	img = upright(img, p.orientation, image.Rect(p.x, p.y, p.x+p.w, p.y+p.h))
	opaque, known := img.(interface{ Opaque() bool })
	if p.mediaType == "image/jpeg" && known && !opaque.Opaque() {
		white := image.NewRGBA(img.Bounds())
		draw.Draw(white, white.Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(white, white.Rect, img, white.Rect.Min, draw.Over)
		img = white
	}
	return img, nil
}

func (p *plan) encode(w io.Writer, img image.Image) error {
	if p.mediaType == "image/jpeg" {
		return jpeg.Encode(w, img, &jpeg.Options{Quality: 92})
	}
	return png.Encode(w, img)
}

func supported(mediaType string) bool {
	return mediaType == "image/png" || mediaType == "image/jpeg" || mediaType == "image/webp"
}
