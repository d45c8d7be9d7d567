package fit

import (
	"bytes"
	"image"
	"image/draw"

	"github.com/bep/imagemeta"
)

// orientation returns the EXIF orientation of an image: 1 is upright, and from 5 on width and
// height are swapped. It returns 1 if there is none.
func orientation(data []byte, mediaType string) int {
	found := 1
	formats := map[string]imagemeta.ImageFormat{
		"image/jpeg": imagemeta.JPEG, "image/png": imagemeta.PNG, "image/webp": imagemeta.WebP,
	}
	// The error does not matter: metadata that cannot be read leaves the image as it is.
	_, _ = imagemeta.Decode(imagemeta.Options{
		R:           bytes.NewReader(data),
		ImageFormat: formats[mediaType],
		Sources:     imagemeta.EXIF,
		ShouldHandleTag: func(tag imagemeta.TagInfo) bool {
			return tag.Tag == "Orientation" && tag.Namespace == "IFD0"
		},
		HandleTag: func(tag imagemeta.TagInfo) error {
			if v, ok := tag.Value.(uint16); ok && v >= 1 && v <= 8 {
				found = int(v)
			}
			return imagemeta.ErrStopWalking
		},
	})
	return found
}

// upright returns the part r of img, where r is measured after applying the orientation. An image
// that is upright already is not copied.
func upright(img image.Image, orientation int, r image.Rectangle) image.Image {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	if orientation <= 1 { // images of all decoders have this method
		return img.(interface {
			SubImage(image.Rectangle) image.Image
		}).SubImage(r.Add(b.Min))
	}
	// stored maps a pixel of the upright image to the stored one
	stored := func(x, y int) (int, int) {
		if orientation >= 5 {
			x, y = y, x
		}
		switch orientation {
		case 2, 3, 7, 8:
			x = w - 1 - x
		}
		switch orientation {
		case 3, 4, 6, 7:
			y = h - 1 - y
		}
		return x, y
	}
	x0, y0 := stored(r.Min.X, r.Min.Y)
	x1, y1 := stored(r.Max.X-1, r.Max.Y-1)
	part := image.Rect(min(x0, x1), min(y0, y1), max(x0, x1)+1, max(y0, y1)+1).Add(b.Min)
	flat := image.NewNRGBA(part)
	draw.Draw(flat, part, img, part.Min, draw.Src)
	out := image.NewNRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	for y := range r.Dy() {
		for x := range r.Dx() {
			sx, sy := stored(r.Min.X+x, r.Min.Y+y)
			copy(out.Pix[out.PixOffset(x, y):][:4], flat.Pix[flat.PixOffset(b.Min.X+sx, b.Min.Y+sy):][:4])
		}
	}
	return out
}
