package fit

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/draw"
)

// orientation returns how the picture is turned, 1 to 8 as EXIF counts: 1 is upright, from 5 on width and height change places.
// Anything unreadable is 1.
func orientation(data []byte, kind string) int {
	var tiff []byte
	switch kind {
	case "jpeg":
		tiff = jpegEXIF(data)
	case "png":
		tiff = chunk(data, 8, "eXIf", binary.BigEndian)
	case "webp":
		tiff = chunk(data, 12, "EXIF", binary.LittleEndian)
	}
	return tiffOrientation(bytes.TrimPrefix(tiff, []byte("Exif\x00\x00")))
}

// jpegEXIF returns the EXIF block of a JPEG: the APP1 segment before the image data that says so.
func jpegEXIF(data []byte) []byte {
	for i := 2; i+4 <= len(data) && data[i] == 0xff && data[i+1] != 0xda; {
		if data[i+1] == 0xff { // padding
			i++
			continue
		}
		end := i + 2 + int(binary.BigEndian.Uint16(data[i+2:]))
		if end > len(data) || end < i+4 {
			return nil
		}
		if body := data[i+4 : end]; data[i+1] == 0xe1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) {
			return body
		}
		i = end
	}
	return nil
}

// chunk returns the chunk with that name of a PNG (big endian: length, name, body, checksum) or a WebP (little endian: name,
// length, body, padded to an even length).
func chunk(data []byte, at int, name string, order binary.ByteOrder) []byte {
	png := order == binary.ByteOrder(binary.BigEndian)
	for at+8 <= len(data) {
		label, size := string(data[at:at+4]), order.Uint32(data[at+4:])
		if png {
			label, size = string(data[at+4:at+8]), order.Uint32(data[at:])
		}
		if uint64(at)+8+uint64(size) > uint64(len(data)) {
			return nil
		}
		if label == name {
			return data[at+8 : at+8+int(size)]
		}
		at += 8 + int(size)
		if png {
			at += 4
		} else {
			at += int(size & 1)
		}
	}
	return nil
}

// tiffOrientation finds tag 0x0112 in the first directory of a TIFF header.
func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == 0x0112 {
			if v := int(order.Uint16(entries[8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// upright returns the part r of img, where r is measured in the picture as it is shown, turned as it is shown.
func upright(img image.Image, turn int, r image.Rectangle) image.Image {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	// place maps a pixel of the shown picture to the stored one
	place := func(x, y int) (int, int) { return x, y }
	switch turn {
	case 2:
		place = func(x, y int) (int, int) { return w - 1 - x, y }
	case 3:
		place = func(x, y int) (int, int) { return w - 1 - x, h - 1 - y }
	case 4:
		place = func(x, y int) (int, int) { return x, h - 1 - y }
	case 5:
		place = func(x, y int) (int, int) { return y, x }
	case 6:
		place = func(x, y int) (int, int) { return y, h - 1 - x }
	case 7:
		place = func(x, y int) (int, int) { return w - 1 - y, h - 1 - x }
	case 8:
		place = func(x, y int) (int, int) { return w - 1 - y, x }
	}
	x0, y0 := place(r.Min.X, r.Min.Y)
	x1, y1 := place(r.Max.X-1, r.Max.Y-1)
	stored := image.Rect(min(x0, x1), min(y0, y1), max(x0, x1)+1, max(y0, y1)+1).Add(b.Min)
	if sub, ok := img.(interface {
		SubImage(image.Rectangle) image.Image
	}); ok && turn <= 1 {
		return sub.SubImage(stored)
	}
	flat := image.NewNRGBA(stored)
	draw.Draw(flat, stored, img, stored.Min, draw.Src)
	out := image.NewNRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	for y := range r.Dy() {
		for x := range r.Dx() {
			sx, sy := place(r.Min.X+x, r.Min.Y+y)
			copy(out.Pix[out.PixOffset(x, y):][:4], flat.Pix[flat.PixOffset(b.Min.X+sx, b.Min.Y+sy):][:4])
		}
	}
	return out
}
