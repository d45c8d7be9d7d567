package imagegen

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// cutText returns a media type without its parameters, and whether it is a kind of text.
func cutText(kind string) (string, bool) {
	kind, _, _ = strings.Cut(kind, ";")
	return kind, strings.HasPrefix(kind, "text/")
}

// looksSVG reports whether text begins, after a declaration and comments, with an svg element.
func looksSVG(head []byte) bool {
	head = bytes.ToLower(head)
	return bytes.Contains(head, []byte("<svg")) && !bytes.Contains(head, []byte("<html")) && bytes.HasPrefix(bytes.TrimSpace(head), []byte("<"))
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

// typeByExtension is the opposite of extension, for files whose bytes say nothing.
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

// dimensions finds width and height in the header of a PNG, GIF, WebP or JPEG that comes in pieces, without holding it: a JPEG
// may have them behind hundreds of kilobytes of metadata.
type dimensions struct {
	head [32]byte
	n    int // bytes in head
	want int // bytes head must have before it is read
	skip int // bytes to drop before head goes on
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
	case d.want == 0: // the first two bytes tell how many are needed
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
		case 'X':
			d.found(1+(int(h[24])|int(h[25])<<8|int(h[26])<<16), 1+(int(h[27])|int(h[28])<<8|int(h[29])<<16))
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

// marker reads one JPEG segment: 0xff, its kind, its length, and for a frame header the precision, height and width.
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
