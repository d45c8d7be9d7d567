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
	scanBuffer = 64 << 10 // bytes per read of the connection; larger buffers measured no faster
	maxMeta    = 1 << 20  // bytes of a response beside its images
	maxDepth   = 64       // nesting of a response
	maxName    = 64       // longer member names are not compared
)

// errSyntax is wrapped by all errors about the syntax of a response.
var errSyntax = errors.New("response is not valid JSON")

// imageWriter receives the bytes of one image, and then one call of finish, with a nil error if
// they are complete.
type imageWriter interface {
	io.Writer
	finish(err error)
}

// scanner reads one JSON response in a single pass. It decodes the text of each "b64_json" below
// "data" from the read buffer into the image that open returns, copies the other relevant members
// to meta, with the index of the image in place of its data, and checks and drops everything else.
// So the memory it holds does not depend on the size of the images.
type scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0] in the body

	open func(index int) imageWriter // if nil, image data is checked and dropped
	seen map[int]bool                // indexes whose image has been read

	meta    []byte
	quiet   bool // drop instead of copying to meta
	decoder base64Decoder
}

func newScanner(r io.Reader, open func(index int) imageWriter) *scanner {
	return &scanner{r: r, buf: make([]byte, scanBuffer), open: open, seen: map[int]bool{}}
}

// isRelevant reports whether a member of the top object is kept.
func isRelevant(name string) bool {
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
		return s.syntax("expected an object")
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
			return s.syntax("unexpected data after the object")
		}
		s.pos++
	}
}

// value reads the value that begins with c, which has been consumed. index is the position in the
// innermost array, or -1.
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
	}
	return s.scalar(c)
}

// object reads the members after "{". At depth 1 only the relevant ones are kept; below "data",
// where data is true, the member b64_json is an image.
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
			return s.syntax("expected a member name")
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
			if s.quiet = !isRelevant(name); s.quiet {
				s.meta = s.meta[:mark]
			} else if seen[name] {
				return s.syntax("duplicate member " + name)
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
			return s.syntax("expected a colon")
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
			return s.syntax("expected a comma or the end of the object")
		}
	}
}

// member reads the value of b64_json.
func (s *scanner) member(c byte, index int) error {
	if c == 'n' {
		return s.scalar(c)
	}
	if c != '"' {
		return s.syntax("b64_json is neither a string nor null")
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c == '"' { // an empty string is not an image
		s.pos++
		return s.emit([]byte("null")...)
	}
	if s.seen[index] {
		return s.syntax("duplicate image " + strconv.Itoa(index))
	}
	s.seen[index] = true
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
			return s.syntax("expected a comma or the end of the array")
		}
		if err := s.emit(c); err != nil || c == ']' {
			return err
		}
	}
}

// image decodes the string whose opening quote has been read into in, which may be nil. What is
// wrong with the image is passed to in; only what is wrong with the JSON is returned.
func (s *scanner) image(in imageWriter) error {
	if in == nil {
		quiet := s.quiet
		s.quiet = true
		defer func() { s.quiet = quiet }()
		return s.text()
	}
	s.decoder.reset(in)
	var bad error // of the image: the rest of the string is skipped
	for {
		if _, err := s.peek(); err != nil {
			in.finish(err)
			return err
		}
		run := s.buf[s.pos:s.end]
		end := bytes.IndexByte(run, '"')
		if end >= 0 {
			run = run[:end]
		}
		if i := bytes.IndexByte(run, '\\'); i >= 0 {
			run, end = run[:i], i
		}
		if bad == nil {
			bad = s.decoder.write(run)
		}
		s.pos += len(run)
		if end < 0 {
			continue
		}
		s.pos++
		if s.buf[s.pos-1] == '"' {
			if bad == nil {
				bad = s.decoder.close()
			}
			in.finish(bad)
			return nil
		}
		c, err := s.escape(nil)
		if err != nil {
			in.finish(err)
			return err
		}
		switch {
		case bad != nil, c == '\n', c == '\r':
		case c >= 0x80:
			bad = errBase64
		default:
			bad = s.decoder.write([]byte{byte(c)})
		}
	}
}

// scalar reads the number, true, false or null that begins with c.
func (s *scanner) scalar(c byte) error {
	word := []byte{c}
	for {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c == ',' || c == '}' || c == ']' || space(c) {
			break
		}
		if len(word) == maxMeta {
			return fmt.Errorf("%w: a value of more than %d bytes", ErrTooLarge, maxMeta)
		}
		word = append(word, c)
		s.pos++
	}
	if !json.Valid(word) {
		return s.syntax("expected a value")
	}
	return s.emit(word...)
}

// name reads a member name after its opening quote and returns it, or "" if it exceeds maxName.
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
		return "", s.syntax("invalid member name")
	}
	return name, nil
}

// text copies a string after its opening quote.
func (s *scanner) text() error {
	return s.chars(func(p []byte) error { return s.emit(p...) })
}

// chars reads a string up to and including the closing quote, passing its raw text to f in pieces.
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

// escape reads what follows a backslash and returns the character; f, if not nil, receives the raw
// text.
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
			return 0, s.syntax("invalid escape in a string")
		}
		r = rune(v)
	default:
		return 0, s.syntax("invalid escape in a string")
	}
	if f != nil {
		return r, f(raw[:n])
	}
	return r, nil
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

// peek returns the next byte without consuming it. The end of the body is io.ErrUnexpectedEOF.
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
	if len(s.meta)+len(p) > maxMeta {
		return fmt.Errorf("%w: more than %d bytes beside the images", ErrTooLarge, maxMeta)
	}
	s.meta = append(s.meta, p...)
	return nil
}

func (s *scanner) syntax(what string) error {
	return fmt.Errorf("%w: %s near byte %d", errSyntax, what, s.base+int64(s.pos))
}
