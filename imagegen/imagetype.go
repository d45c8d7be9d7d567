package imagegen

import (
	"bytes"
	"image"
	_ "image/gif" // for image.DecodeConfig, as the others
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"strings"

	_ "golang.org/x/image/webp"
)

const unknownType = "application/octet-stream"

// DetectType returns the media type of an image by its first bytes, of which at most 512 are
// considered. It returns another type than image/… for data that is not an image, and
// "application/octet-stream" for data it does not know.
func DetectType(data []byte) string {
	head := data[:min(len(data), sniffBytes)]
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		switch string(head[8:12]) {
		case "avif", "avis":
			return "image/avif"
		case "heic", "heix", "heim", "heis", "hevc", "mif1", "msf1":
			return "image/heic"
		}
	}
	mediaType, isText := cutText(http.DetectContentType(head))
	markup := bytes.ToLower(bytes.TrimSpace(head))
	if isText && bytes.HasPrefix(markup, []byte("<")) && bytes.Contains(markup, []byte("<svg")) &&
		!bytes.Contains(markup, []byte("<html")) {
		return "image/svg+xml"
	}
	return mediaType
}

// cutText returns a media type without its parameters, and whether it is a text type.
func cutText(mediaType string) (string, bool) {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return mediaType, strings.HasPrefix(mediaType, "text/")
}

func isImage(kind string) bool { return strings.HasPrefix(kind, "image/") }

// extension returns the file name extension for a media type, with its dot.
func extension(kind string) string {
	switch kind {
	case "image/jpeg":
		return ".jpg"
	case "image/svg+xml":
		return ".svg"
	}
	special := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }
	if sub, ok := strings.CutPrefix(kind, "image/"); ok && !strings.ContainsFunc(sub, special) {
		return "." + sub
	}
	return ".bin"
}

// dimensions finds the width and height in the header of an image that is written to it, without
// holding it: in a JPEG they may follow hundreds of kilobytes of metadata.
type dimensions struct {
	w     *io.PipeWriter
	found chan image.Config
}

func newDimensions() *dimensions {
	r, w := io.Pipe()
	d := &dimensions{w, make(chan image.Config, 1)}
	go func() {
		c, _, _ := image.DecodeConfig(r) // zero for an unknown format
		r.Close()                        // from here on, write does nothing
		d.found <- c
	}()
	return d
}

func (d *dimensions) write(p []byte) { _, _ = d.w.Write(p) }

// size returns what was found. It must be called once, after the last write.
func (d *dimensions) size() (w, h int) {
	d.w.Close()
	c := <-d.found
	return c.Width, c.Height
}
