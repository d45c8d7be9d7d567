package imagegen

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
)

const unknownType = "application/octet-stream"

// DetectType returns the media type of an image by its first bytes, of which at most 512 are
// considered. It returns another type than image/… for data that is not an image, and
// "application/octet-stream" for data it does not know.
func DetectType(data []byte) string { return sniff(data[:min(len(data), sniffBytes)]) }

// sniff returns the media type of data that begins with head, or unknownType.
func sniff(head []byte) string {
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		switch string(head[8:12]) {
		case "avif", "avis":
			return "image/avif"
		case "heic", "heix", "heim", "heis", "hevc", "mif1", "msf1":
			return "image/heic"
		}
	}
	mediaType, isText := cutText(http.DetectContentType(head))
	if isText && looksSVG(head) {
		return "image/svg+xml"
	}
	return mediaType
}

// cutText returns a media type without its parameters, and whether it is a text type.
func cutText(mediaType string) (string, bool) {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return mediaType, strings.HasPrefix(mediaType, "text/")
}

// looksSVG reports whether text is markup with an svg element, and not HTML.
func looksSVG(head []byte) bool {
	head = bytes.ToLower(head)
	return bytes.Contains(head, []byte("<svg")) && !bytes.Contains(head, []byte("<html")) &&
		bytes.HasPrefix(bytes.TrimSpace(head), []byte("<"))
}

func isImage(kind string) bool { return strings.HasPrefix(kind, "image/") }

// extension returns the file name extension for a media type, with its dot.
func extension(kind string) string {
	switch kind {
	case "image/jpeg":
		return ".jpg"
	case "image/svg+xml":
		return ".svg"
	case "image/x-icon", "image/vnd.microsoft.icon":
		return ".ico"
	}
	if sub, ok := strings.CutPrefix(kind, "image/"); ok && plainName(sub) == sub {
		return "." + sub
	}
	return ".bin"
}

// typeByExtension is the inverse of extension, for files whose type is not detected; "" if unknown.
func typeByExtension(ext string) string {
	switch ext = strings.ToLower(ext); ext {
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".png", ".gif", ".webp", ".avif", ".heic", ".bmp", ".tiff":
		return "image/" + ext[1:]
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}

// dimensions finds the width and height in the header of a PNG, GIF, WebP or JPEG that arrives in
// pieces, without holding it: in a JPEG they may follow hundreds of kilobytes of metadata.
type dimensions struct {
	head [32]byte
	n    int // bytes in head
	want int // bytes to collect in head before parsing
	skip int // bytes to drop before collecting
	jpeg bool
	done bool
	w, h int
}

func (d *dimensions) size() (w, h int) { return d.w, d.h }

func (d *dimensions) write(p []byte) {
	for len(p) > 0 && !d.done {
		if d.skip > 0 {
			n := min(d.skip, len(p))
			d.skip -= n
			p = p[n:]
			continue
		}
		want := max(d.want, 2)
		n := copy(d.head[d.n:want], p)
		d.n += n
		p = p[n:]
		if d.n == want {
			d.parse()
		}
	}
}

func (d *dimensions) parse() {
	h := d.head[:d.n]
	le, be := binary.LittleEndian, binary.BigEndian
	switch {
	case d.want == 0: // the first two bytes determine how many are needed
		switch string(h) {
		case "\xff\xd8":
			d.jpeg, d.want, d.n = true, 9, 0
		case "GI":
			d.want = 10
		default:
			d.want = 30
		}
	case d.jpeg:
		d.marker(h)
	case d.want == 10:
		d.found(int(le.Uint16(h[6:])), int(le.Uint16(h[8:])))
	case string(h[:8]) == "\x89PNG\r\n\x1a\n":
		d.found(int(be.Uint32(h[16:])), int(be.Uint32(h[20:])))
	case string(h[:4]) == "RIFF" && string(h[8:15]) == "WEBPVP8":
		switch h[15] {
		case 'X': // 24 bits each, at 24 and 27
			d.found(1+int(le.Uint32(h[24:])&0xffffff), 1+int(le.Uint32(h[26:])>>8))
		case 'L':
			bits := le.Uint32(h[21:])
			d.found(1+int(bits&0x3fff), 1+int(bits>>14&0x3fff))
		default:
			d.found(int(le.Uint16(h[26:])&0x3fff), int(le.Uint16(h[28:])&0x3fff))
		}
	default:
		d.done = true
	}
}

// marker parses one JPEG segment: 0xff, kind, length, and in a frame header precision, height,
// width.
func (d *dimensions) marker(h []byte) {
	kind, length := h[1], int(binary.BigEndian.Uint16(h[2:]))
	switch {
	case h[0] != 0xff || kind == 0xd9 || kind == 0xda || length < 2:
		d.done = true
	case kind == 0xff: // padding
		copy(h, h[1:])
		d.n--
	case kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc:
		d.found(int(binary.BigEndian.Uint16(h[7:])), int(binary.BigEndian.Uint16(h[5:])))
	case 2+length >= len(h):
		d.skip, d.n = 2+length-len(h), 0
	default: // a short segment: what follows is the beginning of the next one
		d.n = copy(d.head[:], h[2+length:])
	}
}

func (d *dimensions) found(w, h int) { d.w, d.h, d.done = w, h, true }
