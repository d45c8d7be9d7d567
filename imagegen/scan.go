package imagegen

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	scanBuffer = 64 << 10 // bytes per read of the connection; larger buffers measured no faster
	maxMeta    = 1 << 20  // bytes of a response beside its images

	byteOrderMark = "\ufeff" // some services begin with it
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
// "data" from the read buffer into the image that open returns, and copies everything else to meta,
// with the index of the image in place of its data. So the memory it holds does not depend on the
// size of the images. encoding/json, which reads meta, checks the syntax of the rest.
type scanner struct {
	r    *bufio.Reader
	open func(index int) imageWriter // if nil, image data is dropped
	seen map[int]bool                // indexes whose image has been read
	meta []byte

	nesting []int  // for each open array the index of its element; -1 for an open object
	last    string // the last string read
	member  string // the member whose value follows, or ""
	section string // the member of the top object

	decoder base64Decoder
}

func newScanner(r io.Reader, open func(index int) imageWriter) *scanner {
	return &scanner{r: bufio.NewReaderSize(r, scanBuffer), open: open, seen: map[int]bool{}}
}

// scan reads the whole body. A document that is complete is not lost with what should end the body.
func (s *scanner) scan() error {
	if head, _ := s.r.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = s.r.Discard(len(head))
	}
	for {
		c, err := s.r.ReadByte()
		switch {
		case err != nil && len(s.nesting) == 0 && len(s.meta) > 0:
			return nil
		case err != nil:
			return unexpected(err)
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case len(s.meta) == 0 && c != '{':
			return fmt.Errorf("%w: expected an object", errSyntax)
		case c == '"' && s.member == "b64_json" && s.section == "data" && len(s.nesting) > 1:
			err = s.image()
		default:
			err = s.token(c)
		}
		if err != nil {
			return err
		}
	}
}

// unexpected returns the error for a body that ends in the middle of a value.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// token copies a string, or one character of anything else.
func (s *scanner) token(c byte) error {
	s.member = ""
	if err := s.keep(c); err != nil {
		return err
	}
	top := len(s.nesting) - 1
	switch c {
	case '"':
		return s.text()
	case ':':
		s.member = s.last
		if top == 0 {
			s.section = s.last
		}
	case '{':
		s.nesting = append(s.nesting, -1)
	case '[':
		s.nesting = append(s.nesting, 0)
	case ',':
		if top >= 0 && s.nesting[top] >= 0 {
			s.nesting[top]++
		}
	case '}', ']':
		if top < 0 {
			return fmt.Errorf("%w: unexpected %c", errSyntax, c)
		}
		s.nesting = s.nesting[:top]
	}
	return nil
}

// text copies a string after its opening quote.
func (s *scanner) text() error {
	start := len(s.meta)
	for escaped := false; ; {
		c, err := s.r.ReadByte()
		if err != nil {
			return unexpected(err)
		}
		if err := s.keep(c); err != nil {
			return err
		}
		if c == '"' && !escaped {
			s.last = string(s.meta[start : len(s.meta)-1])
			return nil
		}
		escaped = c == '\\' && !escaped
	}
}

func (s *scanner) keep(p ...byte) error {
	if len(s.meta)+len(p) > maxMeta {
		return fmt.Errorf("%w: more than %d bytes beside the images", ErrTooLarge, maxMeta)
	}
	s.meta = append(s.meta, p...)
	return nil
}

// index returns the position in the innermost array, or 0.
func (s *scanner) index() int {
	for i := len(s.nesting) - 1; i >= 0; i-- {
		if s.nesting[i] >= 0 {
			return s.nesting[i]
		}
	}
	return 0
}

// discard is the imageWriter for data that is not wanted.
type discard struct{ io.Writer }

func (discard) finish(error) {}

// image reads the value of b64_json after its opening quote.
func (s *scanner) image() error {
	s.member = ""
	if next, _ := s.r.Peek(1); string(next) == `"` { // an empty string is not an image
		_, _ = s.r.Discard(1)
		return s.keep([]byte("null")...)
	}
	index := s.index()
	if s.seen[index] {
		return fmt.Errorf("%w: duplicate image %d", errSyntax, index)
	}
	s.seen[index] = true
	var in imageWriter = discard{io.Discard}
	if s.open != nil {
		in = s.open(index)
	}
	s.decoder.reset(in)
	bad, err := s.decode()
	if err != nil {
		in.finish(err)
		return err
	}
	in.finish(bad)
	return s.keep(strconv.AppendInt(nil, int64(index), 10)...)
}

// decode decodes the text of an image up to its closing quote. bad is what is wrong with the image,
// err what is wrong with the response.
func (s *scanner) decode() (bad, err error) {
	write := func(text []byte) {
		if bad == nil {
			bad = s.decoder.write(text)
		}
	}
	for {
		if _, err := s.r.Peek(1); err != nil {
			return nil, unexpected(err)
		}
		run, _ := s.r.Peek(s.r.Buffered())
		text := run
		if i := bytes.IndexByte(text, '"'); i >= 0 {
			text = text[:i]
		}
		if i := bytes.IndexByte(text, '\\'); i >= 0 {
			text = text[:i]
		}
		write(text)
		_, _ = s.r.Discard(len(text))
		if len(text) == len(run) {
			continue
		}
		if c, _ := s.r.ReadByte(); c == '"' {
			if bad == nil {
				bad = s.decoder.close()
			}
			return bad, nil
		}
		text, err := s.escape()
		if err != nil {
			return nil, unexpected(err)
		}
		write(text)
	}
}

// escape reads an escape after its backslash: \/ and \u002b are characters, and line breaks mean
// nothing. Anything else spoils the image, as a backslash does.
func (s *scanner) escape() ([]byte, error) {
	c, err := s.r.ReadByte()
	switch {
	case err != nil:
		return nil, err
	case c == 'n', c == 'r':
		return nil, nil
	case c == '/':
		return []byte{c}, nil
	case c == 'u':
		hex := make([]byte, 4)
		if _, err := io.ReadFull(s.r, hex); err != nil {
			return nil, err
		}
		if v, err := strconv.ParseUint(string(hex), 16, 8); err == nil {
			return []byte{byte(v)}, nil
		}
	}
	return []byte{'\\'}, nil
}
