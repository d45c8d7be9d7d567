package imagegen

import (
	"bytes"
	"errors"
	"io"

	"github.com/segmentio/asm/base64" // several times as fast as encoding/base64
)

var errBase64 = errors.New("image data is not valid base64")

const dataPrefix = "data:"

// base64Decoder decodes base64 text that arrives in pieces of any length. It accepts both
// alphabets, missing padding and a data: prefix.
type base64Decoder struct {
	w       io.Writer
	in, out []byte
	n       int  // characters in in
	begun   bool // the prefix, if any, has been removed
	padded  bool // padding has been read: nothing may follow
}

func (d *base64Decoder) reset(w io.Writer) {
	if d.in == nil {
		d.in, d.out = make([]byte, scanBuffer), make([]byte, scanBuffer/4*3)
	}
	*d = base64Decoder{w: w, in: d.in, out: d.out}
}

// write takes the next characters. It does not keep p.
func (d *base64Decoder) write(p []byte) error {
	for len(p) > 0 {
		n := copy(d.in[d.n:], p)
		d.n += n
		p = p[n:]
		if d.n == len(d.in) {
			if err := d.flush(false); err != nil {
				return err
			}
		}
	}
	return nil
}

// close decodes what is left. It does not close the writer.
func (d *base64Decoder) close() error { return d.flush(true) }

// flush decodes and writes the characters in d.in; unless they are the last ones, only as many as
// make whole groups of four.
func (d *base64Decoder) flush(last bool) error {
	if text := d.in[:d.n]; !d.begun && bytes.HasPrefix(text, []byte(dataPrefix)) {
		mediaType, body, ok := bytes.Cut(text, []byte(";base64,"))
		if !ok || bytes.ContainsFunc(mediaType, notInMediaType) {
			return errBase64
		}
		d.n = copy(d.in, body)
	}
	d.begun = true
	text := d.in[:d.n]
	if !last {
		text = text[:d.n&^3]
	}
	if d.padded && len(text) > 0 {
		return errBase64
	}
	data, ok := d.decode(text)
	if !ok {
		body := bytes.TrimRight(text, "=")
		if padding := len(text) - len(body); padding > 0 {
			if len(body)%4 < 2 || len(body)%4+padding != 4 {
				return errBase64
			}
			d.padded = true
		}
		for i, c := range body { // the alphabet of URLs
			switch c {
			case '-':
				body[i] = '+'
			case '_':
				body[i] = '/'
			}
		}
		if data, ok = d.decode(body); !ok {
			return errBase64
		}
	}
	d.n = copy(d.in, d.in[len(text):d.n])
	if len(data) == 0 {
		return nil
	}
	_, err := d.w.Write(data)
	return err
}

// notInMediaType finds what JSON does not allow in a text, and escapes that mean no character.
func notInMediaType(r rune) bool { return r < ' ' || r == '\\' }

// decode decodes text into d.out. It fails for line breaks, which Decode ignores: among whole
// groups of four they show in the length.
func (d *base64Decoder) decode(text []byte) ([]byte, bool) {
	if len(text)%4 != 0 && bytes.ContainsAny(text, "\r\n") {
		return nil, false
	}
	n, err := base64.RawStdEncoding.Decode(d.out, text)
	return d.out[:n], err == nil && n == base64.RawStdEncoding.DecodedLen(len(text))
}
