package imagegen

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

const (
	scanBuffer = 64 << 10 // what one read of the connection may bring; larger buffers measured no faster
	maxDepth   = 64       // nesting an answer may have
	maxName    = 64       // member names longer than this are none of ours
)

// errSyntax is what every complaint about the text of an answer wraps.
var errSyntax = errors.New("answer is not valid JSON")

// imageWriter takes the bytes of one image, then finish, whose error is nil if they were all.
type imageWriter interface {
	io.Writer
	finish(err error)
}

// scanner reads one JSON answer in a single pass. The text of every "b64_json" below "data" is decoded straight from the read
// buffer into the image that open returns; the other members worth knowing are copied to meta, where the number of the image
// stands in place of its data; everything else is checked and dropped. So what is held never depends on the size of the images.
type scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0] in the body

	open  func(index int) imageWriter // nil: image data is checked and dropped
	taken map[int]bool                // indexes that have had their image

	meta  []byte
	limit int
	quiet bool // drop instead of copying to meta
	dec   base64Decoder
}

func newScanner(r io.Reader, open func(index int) imageWriter, limit int) *scanner {
	return &scanner{r: r, buf: make([]byte, scanBuffer), open: open, limit: limit, taken: map[int]bool{}}
}

// wanted are the members of the top object that are kept.
func wanted(name string) bool {
	switch name {
	case "created", "data", "usage", "error", "id", "task_id", "message":
		return true
	}
	return false
}

// scan reads the whole body. After it, s.meta is a JSON object.
func (s *scanner) scan() error {
	c, err := s.token()
	if err != nil {
		return err
	}
	if c != '{' {
		return s.syntax("want an object")
	}
	if err := s.object(1, -1, true); err != nil {
		return err
	}
	for {
		c, err := s.peek()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !space(c) {
			return s.syntax("something follows the object")
		}
		s.pos++
	}
}

// value reads the value that begins with c, which has been consumed. index is the position in the innermost array, -1 in none.
func (s *scanner) value(c byte, depth, index int, data bool) error {
	if depth > maxDepth {
		return s.syntax("nested too deeply")
	}
	switch {
	case c == '{':
		return s.object(depth, index, data)
	case c == '[':
		return s.array(depth, data)
	case c == '"':
		if err := s.emit('"'); err != nil {
			return err
		}
		return s.text()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		return s.number(c)
	}
	return s.syntax("want a value")
}

// object reads the members after "{". At depth 1 only the wanted ones are kept; below "data" (data is true there) the member
// b64_json is an image.
func (s *scanner) object(depth, index int, data bool) error {
	if err := s.emit('{'); err != nil {
		return err
	}
	quiet, kept := s.quiet, 0
	seen := map[string]bool(nil)
	if depth == 1 {
		seen = map[string]bool{}
	}
	for n := 0; ; n++ {
		c, err := s.token()
		if err != nil {
			return err
		}
		if c == '}' && n == 0 {
			return s.emit('}')
		}
		if c != '"' {
			return s.syntax("want a member name")
		}
		mark := len(s.meta)
		if kept > 0 {
			if err := s.emit(','); err != nil {
				return err
			}
		}
		name, err := s.name()
		if err != nil {
			return err
		}
		below := data
		if depth == 1 {
			below = name == "data"
			if s.quiet = !wanted(name); s.quiet {
				s.meta = s.meta[:mark]
			} else if seen[name] {
				return s.syntax("member " + name + " comes twice")
			}
			seen[name] = true
		}
		if !s.quiet {
			kept++
		}
		if c, err = s.token(); err != nil {
			return err
		}
		if c != ':' {
			return s.syntax("want a colon")
		}
		if err := s.emit(':'); err != nil {
			return err
		}
		if c, err = s.token(); err != nil {
			return err
		}
		if depth > 1 && data && name == "b64_json" {
			err = s.member(c, max(index, 0))
		} else {
			err = s.value(c, depth+1, index, below)
		}
		if err != nil {
			return err
		}
		s.quiet = quiet
		if c, err = s.token(); err != nil {
			return err
		}
		switch c {
		case ',':
		case '}':
			return s.emit('}')
		default:
			return s.syntax("want a comma or the end of the object")
		}
	}
}

// member reads the value of b64_json.
func (s *scanner) member(c byte, index int) error {
	if c == 'n' {
		return s.literal("null")
	}
	if c != '"' {
		return s.syntax("b64_json is neither a string nor null")
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c == '"' { // an empty string is no image
		s.pos++
		return s.emit([]byte("null")...)
	}
	if s.taken[index] {
		return s.syntax("image " + strconv.Itoa(index) + " comes twice")
	}
	s.taken[index] = true
	var in imageWriter
	if s.open != nil {
		in = s.open(index)
	}
	if err := s.image(in); err != nil {
		return err
	}
	return s.emit(strconv.AppendInt(nil, int64(index), 10)...)
}

func (s *scanner) array(depth int, data bool) error {
	if err := s.emit('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		c, err := s.token()
		if err != nil {
			return err
		}
		if c == ']' && i == 0 {
			return s.emit(']')
		}
		if err := s.value(c, depth+1, i, data); err != nil {
			return err
		}
		if c, err = s.token(); err != nil {
			return err
		}
		if c != ',' && c != ']' {
			return s.syntax("want a comma or the end of the array")
		}
		if err := s.emit(c); err != nil || c == ']' {
			return err
		}
	}
}

// image feeds the string whose opening quote has been read to in, which may be nil. What is wrong with the image stays with the
// image; only what is wrong with the JSON is returned.
func (s *scanner) image(in imageWriter) error {
	if in == nil {
		quiet := s.quiet
		s.quiet = true
		defer func() { s.quiet = quiet }()
		return s.text()
	}
	s.dec.reset(in)
	var bad error // of the image: the rest of the string is checked as text
	for {
		if _, err := s.peek(); err != nil {
			in.finish(err)
			return err
		}
		run := s.buf[s.pos:s.end]
		if bad == nil {
			// A clean decode is the proof that neither the closing quote nor an escape is among these bytes, so nearly all of an
			// image needs no search for them.
			n, err := s.dec.bulk(run)
			if s.pos += n; err != nil || n > 0 {
				bad = err
				continue
			}
			if s.dec.have > 0 {
				run = run[:min(len(run), 4-s.dec.have)]
			}
		}
		quote := bytes.IndexByte(run, '"')
		if quote >= 0 {
			run = run[:quote]
		}
		slash := bytes.IndexByte(run, '\\')
		if slash >= 0 {
			run = run[:slash]
		}
		look := s.dec.state != prefixPast // base64 has no control characters, so a good run of it needs no look; a prefix may
		if bad == nil {
			bad = s.dec.write(run)
		}
		if bad != nil || look {
			if i := control(run); i >= 0 {
				s.pos += i
				return s.syntax("control character in a string")
			}
		}
		s.pos += len(run)
		switch {
		case slash >= 0:
			s.pos++
			c, err := s.escape(nil)
			if err != nil {
				return err
			}
			if bad == nil && c != '\n' && c != '\r' {
				bad = s.dec.writeRune(c)
			}
		case quote >= 0:
			s.pos++
			if bad == nil {
				bad = s.dec.close()
			}
			in.finish(bad)
			return nil
		}
	}
}
