package imagegen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
		if err == io.ErrUnexpectedEOF {
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
		quote := bytes.IndexByte(run, '"')
		if quote >= 0 {
			run = run[:quote]
		}
		slash := bytes.IndexByte(run, '\\')
		if slash >= 0 {
			run = run[:slash]
		}
		if bad == nil {
			bad = s.dec.write(run)
		}
		if bad != nil { // base64 has no control characters, so a good run needs no look
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

// control returns the position of the first control character in p, -1 when there is none.
func control(p []byte) int {
	for i, c := range p {
		if c < 0x20 {
			return i
		}
	}
	return -1
}

// name reads a member name after its opening quote and returns it, or "" when it is longer than any of ours.
func (s *scanner) name() (string, error) {
	if err := s.emit('"'); err != nil {
		return "", err
	}
	raw := []byte{'"'}
	err := s.chars(func(p []byte) error {
		if len(raw) <= maxName {
			raw = append(raw, p[:min(len(p), maxName+1)]...)
		}
		return s.emit(p...)
	})
	if err != nil || len(raw) > maxName {
		return "", err
	}
	if !bytes.ContainsRune(raw, '\\') {
		return string(raw[1 : len(raw)-1]), nil
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return "", s.syntax("bad member name")
	}
	return name, nil
}

// text reads a string after its opening quote and keeps it raw.
func (s *scanner) text() error {
	return s.chars(func(p []byte) error { return s.emit(p...) })
}

// chars reads a string up to and including the closing quote, giving its raw text to f piece by piece.
func (s *scanner) chars(f func(p []byte) error) error {
	for {
		if _, err := s.peek(); err != nil {
			return err
		}
		run := s.buf[s.pos:s.end]
		i := 0
		for i < len(run) && run[i] != '"' && run[i] != '\\' && run[i] >= 0x20 {
			i++
		}
		if i < len(run) && run[i] == '"' {
			s.pos += i + 1
			return f(run[:i+1])
		}
		s.pos += i
		if err := f(run[:i]); err != nil {
			return err
		}
		if i == len(run) {
			continue
		}
		if run[i] != '\\' {
			return s.syntax("control character in a string")
		}
		s.pos++
		if _, err := s.escape(f); err != nil {
			return err
		}
	}
}

// escape reads what follows a backslash and returns its meaning; f, if not nil, is given the raw text.
func (s *scanner) escape(f func(p []byte) error) (rune, error) {
	raw := [6]byte{'\\'}
	c, err := s.next()
	if err != nil {
		return 0, err
	}
	raw[1] = c
	n, r := 2, rune(c)
	switch c {
	case '"', '\\', '/':
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 'b', 'f', 't':
		r = ' '
	case 'u':
		for ; n < 6; n++ {
			if raw[n], err = s.next(); err != nil {
				return 0, err
			}
		}
		v, err := strconv.ParseUint(string(raw[2:]), 16, 16)
		if err != nil {
			return 0, s.syntax("bad escape in a string")
		}
		r = rune(v)
	default:
		return 0, s.syntax("bad escape in a string")
	}
	if f != nil {
		return r, f(raw[:n])
	}
	return r, nil
}

func (s *scanner) literal(word string) error {
	for i := 1; i < len(word); i++ {
		c, err := s.next()
		if err != nil {
			return err
		}
		if c != word[i] {
			return s.syntax("want " + word)
		}
	}
	return s.emit([]byte(word)...)
}

// number reads the number that begins with c: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (s *scanner) number(c byte) error {
	if err := s.emit(c); err != nil {
		return err
	}
	if c == '-' {
		var err error
		if c, err = s.next(); err != nil {
			return err
		}
		if c < '0' || c > '9' {
			return s.syntax("bad number")
		}
		if err := s.emit(c); err != nil {
			return err
		}
	}
	if c != '0' {
		if _, err := s.digits(); err != nil {
			return err
		}
	}
	if c, _ = s.peek(); c == '.' {
		if err := s.fraction("."); err != nil {
			return err
		}
	}
	if c, _ = s.peek(); c == 'e' || c == 'E' {
		return s.fraction("eE")
	}
	return nil
}

// fraction reads one of first, a sign after an exponent, and at least one digit.
func (s *scanner) fraction(first string) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if err := s.emit(c); err != nil {
		return err
	}
	if c, err = s.peek(); err != nil {
		return err
	}
	if first == "eE" && (c == '+' || c == '-') {
		s.pos++
		if err := s.emit(c); err != nil {
			return err
		}
	}
	n, err := s.digits()
	if err == nil && n == 0 {
		err = s.syntax("bad number")
	}
	return err
}

func (s *scanner) digits() (n int, err error) {
	for {
		c, err := s.peek()
		if err == io.ErrUnexpectedEOF || err == nil && (c < '0' || c > '9') {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		s.pos++
		if err := s.emit(c); err != nil {
			return n, err
		}
		n++
	}
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// token returns the next byte that is not white space.
func (s *scanner) token() (byte, error) {
	for {
		c, err := s.next()
		if err != nil || !space(c) {
			return c, err
		}
	}
}

func (s *scanner) next() (byte, error) {
	c, err := s.peek()
	if err == nil {
		s.pos++
	}
	return c, err
}

// peek returns the next byte without consuming it, reading more when the buffer is empty. The end of the body is
// io.ErrUnexpectedEOF.
func (s *scanner) peek() (byte, error) {
	for s.pos == s.end {
		s.base += int64(s.end)
		n, err := s.r.Read(s.buf)
		s.pos, s.end = 0, n
		if n > 0 {
			break
		}
		if err == io.EOF {
			return 0, io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
	}
	return s.buf[s.pos], nil
}

func (s *scanner) emit(p ...byte) error {
	if s.quiet {
		return nil
	}
	if len(s.meta)+len(p) > s.limit {
		return fmt.Errorf("%w: more than %d bytes beside the images", ErrTooLarge, s.limit)
	}
	s.meta = append(s.meta, p...)
	return nil
}

func (s *scanner) syntax(what string) error {
	return fmt.Errorf("%w: %s near byte %d", errSyntax, what, s.base+int64(s.pos))
}
