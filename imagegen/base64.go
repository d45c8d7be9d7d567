package imagegen

import (
	"encoding/base64"
	"errors"
	"io"
)

var (
	errBase64  = errors.New("image data is not valid base64")
	dataPrefix = "data:"
)

// base64Decoder decodes base64 text that comes in pieces of any length. Whole pieces are decoded in blocks, which is two to
// three times faster than base64.NewDecoder; whatever is unusual in a block (padding, the alphabet of URLs, a piece that ends in
// the middle of a group of four) goes character by character. Missing padding is accepted, and so is a data: prefix.
type base64Decoder struct {
	w     io.Writer
	enc   *base64.Encoding
	out   []byte
	n     int // bytes waiting in out
	group [4]byte
	have  int // characters in group
	pad   int // padding characters seen
	state prefixState
	head  []byte // a prefix, while there may be one
}

type prefixState int

const (
	prefixUnknown prefixState = iota // fewer than five characters seen
	prefixInside                     // before the comma
	prefixPast
)

const maxPrefix = 128

func (d *base64Decoder) reset(w io.Writer) {
	if d.out == nil {
		d.out = make([]byte, scanBuffer/4*3+8)
	}
	*d = base64Decoder{w: w, enc: base64.RawStdEncoding, out: d.out, head: d.head[:0]}
}

// bulk decodes and writes as many whole groups as p has, if nothing but characters of the alphabet is among them, and returns how
// many bytes that were. It returns 0 when they have to be looked at one by one, or are too few to try.
func (d *base64Decoder) bulk(p []byte) (int, error) {
	size := min(len(p)&^3, scanBuffer)
	if size < 64 || d.state != prefixPast || d.have > 0 || d.pad > 0 {
		return 0, nil
	}
	n, err := d.enc.Decode(d.out, p[:size])
	if err != nil || n != size/4*3 { // fewer: line breaks, which Decode passes over in silence
		return 0, nil
	}
	d.n = n
	return size, d.flush()
}

// write decodes p. It keeps nothing of p.
func (d *base64Decoder) write(p []byte) error {
	for d.state != prefixPast && len(p) > 0 {
		if err := d.prefix(p[0]); err != nil {
			return err
		}
		p = p[1:]
	}
	for len(p) > 0 && (d.have > 0 || d.pad > 0) {
		if err := d.char(p[0]); err != nil {
			return err
		}
		p = p[1:]
	}
	if err := d.flush(); err != nil {
		return err
	}
	for len(p) >= 64 {
		n, err := d.bulk(p)
		if err != nil {
			return err
		}
		if n == 0 {
			n = min(len(p)&^3, scanBuffer)
			for _, c := range p[:n] {
				if err := d.char(c); err != nil {
					return err
				}
			}
			if err := d.flush(); err != nil {
				return err
			}
			if d.have > 0 || d.pad > 0 {
				p = p[n:]
				break
			}
		}
		p = p[n:]
	}
	for _, c := range p {
		if err := d.char(c); err != nil {
			return err
		}
	}
	return d.flush()
}

// writeRune takes a character that was written as an escape.
func (d *base64Decoder) writeRune(r rune) error {
	if r >= 0x80 {
		return errBase64
	}
	return d.write([]byte{byte(r)})
}

// prefix takes one character at the start of the text, where "data:image/png;base64," may stand.
func (d *base64Decoder) prefix(c byte) error {
	d.head = append(d.head, c)
	if d.state == prefixUnknown {
		if c != dataPrefix[len(d.head)-1] {
			return d.release()
		}
		if len(d.head) == len(dataPrefix) {
			d.state = prefixInside
		}
		return nil
	}
	if c == ',' {
		const tail = ";base64,"
		if n := len(d.head) - len(tail); n < 0 || string(d.head[n:]) != tail {
			return errBase64
		}
		d.state = prefixPast
		return nil
	}
	if len(d.head) > maxPrefix {
		return errBase64
	}
	return nil
}

// release treats what looked like a prefix as data.
func (d *base64Decoder) release() error {
	d.state = prefixPast
	for _, c := range d.head {
		if err := d.char(c); err != nil {
			return err
		}
	}
	return nil
}

func (d *base64Decoder) char(c byte) error {
	switch {
	case c == '=':
		d.pad++
		if d.have < 2 || d.have+d.pad > 4 {
			return errBase64
		}
		return nil
	case d.pad > 0:
		return errBase64
	case c == '-':
		c, d.enc = '+', base64.RawURLEncoding // most likely the rest is written so, too
	case c == '_':
		c, d.enc = '/', base64.RawURLEncoding
	case c == '+' || c == '/':
		d.enc = base64.RawStdEncoding
	case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9':
	default:
		return errBase64
	}
	d.group[d.have] = c
	d.have++
	if d.have < 4 {
		return nil
	}
	return d.decodeGroup()
}

func (d *base64Decoder) decodeGroup() error {
	if d.n+8 > len(d.out) {
		if err := d.flush(); err != nil {
			return err
		}
	}
	n, err := base64.RawStdEncoding.Decode(d.out[d.n:], d.group[:d.have])
	if err != nil {
		return errBase64
	}
	d.n += n
	d.have = 0
	return nil
}

func (d *base64Decoder) flush() error {
	if d.n == 0 {
		return nil
	}
	n := d.n
	d.n = 0
	_, err := d.w.Write(d.out[:n])
	return err
}

// close decodes the last group. It does not close the writer.
func (d *base64Decoder) close() error {
	if d.state == prefixInside {
		return errBase64
	}
	if d.state == prefixUnknown {
		if err := d.release(); err != nil {
			return err
		}
	}
	if d.have == 1 || d.pad > 0 && d.have+d.pad != 4 {
		return errBase64
	}
	if err := d.decodeGroup(); err != nil {
		return err
	}
	return d.flush()
}
