package imagegen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

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
		if err == nil && (c < '0' || c > '9') || errors.Is(err, io.ErrUnexpectedEOF) {
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
