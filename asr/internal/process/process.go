// Package process runs programs so that none of them outlives its purpose.
package process

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Find returns the absolute path of a program, because programs run in directories of their own.
func Find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Tail keeps the last 4 KiB of what is written to it.
type Tail struct{ buf []byte }

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - 4096; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *Tail) String() string { return strings.ToValidUTF8(string(t.buf), "\uFFFD") }

// address matches the prefix of ffmpeg's messages: the name of a component and its address.
var address = regexp.MustCompile(`\[[^\[\]]* @ (?:0x)?[0-9a-f]+\]\s*`)

// OneLine returns a message of a program as one line of at most 200 bytes, its last, with "audio"
// in place of the path of a temporary file and without memory addresses.
func OneLine(text, path string) string {
	s := strings.NewReplacer("file:"+path, "audio", path, "audio").Replace(text)
	s = strings.Join(strings.Fields(address.ReplaceAllString(s, "")), " ")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[len(s)-200:], "")
	}
	return s
}
